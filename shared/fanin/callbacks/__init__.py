"""Callbacks: the queues, topics and webhooks that get the events of the batches that name them.

The promise: a webhook is tried for a day, and may get an event more than once. A batch may only name
callbacks of the deployment, and only those that its tenant may use.

A webhook's event: queued -> posted, signed -> done; a status that may pass is retried with growing pauses.

Read in this order: ``model.py``: what a callback is, who may name it, and the pauses. ``parsing.py``: the
setting. ``http.py``, ``secrets.py``: one signed POST. ``delivering.py``: the retries.
"""

from fanin.callbacks.model import Callback, check_allowed
from fanin.callbacks.parsing import callbacks_of

__all__ = ["Callback", "callbacks_of", "check_allowed"]
