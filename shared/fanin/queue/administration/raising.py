"""Begins a raise of the parts of a queue; ``raise_phases`` continues it."""

from __future__ import annotations

from dataclasses import replace

from fanin.errors import Conflict, NotFound, StoreUnavailable
from fanin.queue.effects import Effects
from fanin.queue.rules.config import Phase, QueueConfig, existing, refuse_removing
from fanin.queue.rules.keys import QueueKey
from fanin.queue.store import QueueStore

RAISE_ATTEMPTS = 8


def raise_parts(store: QueueStore, effects: Effects, queue: QueueKey, parts: int) -> QueueConfig:
    """Begin to raise the parts of a queue to *parts*, and return its config; repeatable.

    Raises Conflict for fewer parts, and while they are being raised to another number.
    """
    for attempt in range(RAISE_ATTEMPTS):
        config = existing(effects.answer_of(lambda: store.config(queue)))
        if config is None:
            raise NotFound(f"there is no queue {queue.name!r}")
        refuse_removing(queue.name, config)
        if config.parts == parts:
            return config
        wanted = _raised(config, parts)
        stored = effects.answer_of(lambda: store.reconfigure(queue, wanted))  # noqa: B023
        if stored == wanted:
            return wanted
        effects.pause(attempt)
    raise StoreUnavailable(f"queue {queue.name!r}: too many changes of its config at once; retry")


def _raised(config: QueueConfig, parts: int) -> QueueConfig:
    """Return the config with which a raise begins, in a queue that does not sleep, or raise Conflict."""
    if config.before is not None:
        raise Conflict(
            f"the parts are being raised from {config.before} to {config.parts}, which takes over two hours;"
            " raise them further after that"
        )
    if parts < config.parts:
        raise Conflict(f"the queue has {config.parts} parts; their number can be raised, and not lowered")
    awake = replace(config, idle_us=None, asleep_us=None, revision=config.revision + 1)
    return replace(awake, parts=parts, before=config.parts, phase=Phase.PREPARING, since_us=None)
