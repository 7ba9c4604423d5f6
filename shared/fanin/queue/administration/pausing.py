"""Pauses and resumes a queue: a paused one takes adds and acks, and no job of it is claimed.

A worker reads a changed config within a heartbeat, and an invocation of a function reads it when it starts.
"""

from __future__ import annotations

from dataclasses import replace

from fanin.errors import NotFound, StoreUnavailable
from fanin.queue.context import QueueContext
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.keys import PartKey
from fanin.queue.rules.model import Ring

ATTEMPTS = 8
RINGS_A_PART = 1000
"""The most ready jobs of a part that a resumed queue rings for; the sweep rings for what is left."""


def pause(context: QueueContext) -> QueueConfig:
    """Pause the queue, and return its config; repeatable. Raises NotFound for a queue that does not exist."""
    return _switch(context, paused=True)


def resume(context: QueueContext) -> QueueConfig:
    """Resume the queue, ring for its ready jobs, and return its config; repeatable.

    A function that was invoked by a ring while the queue was paused has used the ring up.
    Raises NotFound for a queue that does not exist.
    """
    config = _switch(context, paused=False)
    context.effects.each(lambda part: _ring(context, part), context.parts())
    return config


def _switch(context: QueueContext, *, paused: bool) -> QueueConfig:
    for attempt in range(ATTEMPTS):
        before = context.read_config()
        if before is None:
            raise NotFound(f"queue {context.key.name!r} does not exist")
        after = replace(before, revision=before.revision + 1, paused=paused)
        if before.paused == paused:
            return before
        if context.write_config(after):
            return after
        context.effects.pause(attempt)
    raise StoreUnavailable(f"queue {context.key.name!r} changes too often at the moment; retry")


def _ring(context: QueueContext, part: PartKey) -> None:
    ready = context.store.ready(part, RINGS_A_PART)
    if ready:
        context.ring([Ring(part.number)] * len(ready))
