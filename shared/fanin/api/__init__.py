"""The HTTP API and the messages beside it: strict about what comes in, problem documents for errors.

The promise: a request is refused before anything is written, with the field and the rule that it breaks, or
it is granted. No answer, error or log line has a secret or a row of another tenant.

::

    request --> edge.py: admission.py (its form), requests/ (its fields), callers.py (its tenant)
            --> a function of functions/ --> a capability --> answers/ --> JSON
    an error of any of them --> problems.py, the one table from errors to statuses

Read in this order: ``edge.py``; ``requests/batch_requests.py`` and ``answers/batch_answers.py``, of which the
others are the like; ``problems.py``; ``cursors/list_cursors.py``; ``bus_events/ending_events.py``; and
``messages.py``, acks that come by SQS.
"""
