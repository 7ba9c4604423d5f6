"""Finds the outstanding rows of a fanned-out dataset, and sends them again.

The promise: a row is found if its item is outstanding or failed when its page is read, and is sent under its
first id, so that it counts once. Rows of items acked since are not sent.

Ranges of the batch -> rows of the source, saved with a label -> redriven.

Read in this order: ``rules.py``: what can be reconciled. ``outstanding.py``: pages joined to rows.
``run.py``: find and save, by Spark; ``local.py``: by this machine. ``resending.py``: what is sent again;
``redrive.py``: by Spark; ``local_redrive.py``: by this machine.
"""
