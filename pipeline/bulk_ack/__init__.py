"""Acks items in bulk from ack logs, with one conditional write per page.

The promise: each well-formed row of a log acks its item, as a request would; others are rejected with a
reason. Bits are only set, so a task, a micro-batch or the whole job may run again.

Logs -> a bitmap for each page, in the executors -> pages written by the tracker's code, which climbs and
completes.

Read in this order: ``run.py``: the job and its port, the engine. ``logs.py``, ``item_ids.py``,
``indexes.py``: rows and ids. ``fold.py``: a task's bitmaps. ``write.py``: its writes. ``frames.py``,
``on_spark.py``: the engine on Spark. ``local.py``: the engine in processes. ``pipeline/table_changes``: the
acks in files of the archive.
"""
