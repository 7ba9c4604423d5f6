"""Publishes the rows of a source as the items of a batch: packs rows into messages, and sends them by SQS.

The promise: row k is item k of one batch, also if the run is stopped and repeated; each row is sent at least
once, and a batch is closed after its last row was sent.

A publication: rows checked -> batch open -> added and sent, part by part -> closed. Its idempotency keys are
derived from the rows, so a repeated run finds its batch and continues.

Read in this order: ``row_sources/``: where rows come from. ``rows.py``: parts and their digest.
``packing.py``: rows as messages. ``sending.py``, ``sender.py``: requests and rates. ``publish.py``: the use
case. ``items.py``: ``fanin.send``.
"""
