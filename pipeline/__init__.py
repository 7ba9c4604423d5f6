"""Spark jobs around a batch: whatever is proportional to its size.

The promise: a job may be repeated after a crash: a fan-out finds its batch and its item ids again, and a
repeated ack changes nothing. Rows that a job cannot use are rejected, with the reason.

::

    entry.py, what AWS starts --> jobs/: the command of each job --> a room for each job
      fan_out/    a dataset becomes a batch       bulk_ack/  ack logs become acks
      reconcile/  outstanding rows, and redrive   table_audit/  batches and pages agree
      history_tables/  tables of what happened         datasource/  the data source ``fanin``
    over: table_frames/, the tables as frames; engine_without_spark/, for small data; shared_by_jobs/, what
    all share

Read in this order: ``jobs/audit.py``, ``table_audit/run.py``, ``table_frames/selecting.py``: it only reads.
``fan_out/publish.py``, ``fan_out/send.py``; ``bulk_ack/run.py``, ``bulk_ack/write.py``: those that write.
``entry.py``: how Glue and EMR Serverless start them.
"""
