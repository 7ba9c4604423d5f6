"""Moves dead-letter messages back to their source queues: those whose items are outstanding or failed.

The promise: a crash leaves two copies of a message, and never none.

A message: received, hidden -> sent to its source queue -> deleted; or kept, and visible again at the end.

Read in this order: ``dead_letter_messages.py``: which messages are moved, and why others are not.
``source_queues.py``: where each came from. ``redrive.py``: the run.
"""
