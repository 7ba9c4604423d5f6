"""The command ``fanin``.

The promise: each verb does what it says or exits with a code that says why (``terminal/exits.py``). On a
terminal it prints tables, elsewhere lines separated by tabs, with ``--json`` the API's documents.

::

    main.py --> app.py --> batches/            the verbs of batches
                           queues_and_tasks/   work queues, workers, tasks
                           dashboard_and_reports/ the dashboard, the history, costs
                           local_run/          the local run
                           mcp.py              the verbs as tools
                             |--> arguments/  BATCH, ITEM, and which API is asked
                             `--> terminal/   what is printed, and how it exits

Read in this order: ``verbs.py``, how a verb is registered and what it gets; ``batches/looking.py``, the
simplest verbs; ``arguments/where.py`` and ``arguments/names.py``; ``terminal/output.py``; ``mcp.py``.
"""
