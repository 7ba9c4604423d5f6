"""Fans a dataset out as the items of one batch, one SQS message per row.

The promise: a row has one item, whatever tasks are run again, and its message is sent at least once. A run
that is repeated with its manifest finds its batch and its items.

Dataset -> manifest, written once -> batch opened, one add, closed -> messages sent, or saved.

Read in this order: ``parts.py``, ``manifest.py``: why a row's number is written first. ``publish.py``: the
use case. ``on_spark.py``, ``local.py``: its engines. ``by_arrow.py``, ``arrow_files.py``, ``json_texts.py``:
how both number and save Parquet. ``messages.py``: rows as messages, in frames. ``send.py``: the requests.
"""
