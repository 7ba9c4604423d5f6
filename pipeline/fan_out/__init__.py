"""Fans a dataset out as the items of one batch, one SQS message per row.

The promise: a row has one item, whatever tasks are run again, and its message is sent at least once. A run
that is repeated with its manifest finds its batch and its items.

Dataset -> manifest, written once -> batch opened, one add, closed -> messages sent, or saved.

Read in this order: ``parts.py``, ``manifest.py``: why a row's number is written first. ``publish.py``: the use
case. ``on_spark.py``, ``local.py``: its engines; both take Parquet ``by_arrow.py``, in the tasks of
``arrow_files.py`` with the JSON of ``json_texts.py``. ``messages.py``: rows as messages, in frames. ``send.py``:
the requests of a task.
"""
