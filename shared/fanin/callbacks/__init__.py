"""Callbacks: the queues, topics and webhooks that get the events of the batches that name them."""

from fanin.callbacks.model import Callback, check_allowed
from fanin.callbacks.parsing import callbacks_of

__all__ = ["Callback", "callbacks_of", "check_allowed"]
