"""Lets idle queues sleep, so that nothing is read for them, and wakes them when a job is stored.

A queue goes from *in use* to *idle* to *asleep*, each by a write that compares the config's revision:

- The sweep marks a queue idle when it has found no live job and no outbox entry.
- A later sweep that finds the same again lets the idle queue sleep, and visits it once a day from then on.
- An add first stores its jobs, then reads the config, and wakes a queue that is idle or asleep.

The mark is written before the last look of the sweep, and the jobs before the config is read. Therefore the
sweep sees the job or the add sees the mark, whatever the clocks show, and of two writes to the config one
fails. An add that is known to find an idle queue wakes it first. Idle queues are looked at for longer than a
request can be delayed, so that the job of an add that crashed before it read the config is found too.
"""

from __future__ import annotations

from dataclasses import replace

from fanin.errors import StoreUnavailable
from fanin.queue.context import QueueContext
from fanin.queue.rules.config import QueueConfig, refuse_removing, removed_meanwhile
from fanin.queue.rules.model import SECOND_US

WAKE_ATTEMPTS = 8
SETTLE_SECONDS = 2100
"""How long a queue is idle before it sleeps, and being removed before it is gone: 15 minutes, by which the
mark itself can be applied late, 60 s, for which a process uses a config, 15 minutes, for which a request can
be applied, and four minutes for its attempts."""


def idle(config: QueueConfig, now: int) -> QueueConfig:
    """Return the config of a queue in which nothing was found."""
    return replace(config, revision=config.revision + 1, idle_us=now)


def asleep(config: QueueConfig, now: int) -> QueueConfig:
    """Return the config of an idle queue that the minute's sweep leaves out."""
    return replace(config, revision=config.revision + 1, asleep_us=now)


def woken(config: QueueConfig) -> QueueConfig:
    """Return the config of a queue in use."""
    return replace(config, revision=config.revision + 1, idle_us=None, asleep_us=None)


def observed(config: QueueConfig, in_use: bool, now: int, settle: float) -> QueueConfig:
    """Return the config after a look; *config*, which was read before it, where nothing changes.

    *in_use*: whether the look found a live job or an outbox entry. *settle*: seconds between idle and asleep.
    """
    if config.removing_us is not None:
        return config
    if in_use or config.before is not None:  # the sweep has to complete a raise of the parts
        return config if config.idle_us is None else woken(config)
    if config.idle_us is None:
        return idle(config, now)
    settled = now - config.idle_us >= settle * SECOND_US
    return asleep(config, now) if settled and config.asleep_us is None else config


def note_activity(
    context: QueueContext, before: QueueConfig, in_use: bool, settle: float = SETTLE_SECONDS
) -> None:
    """Write what a look of the sweep found to the config, unless it changed since *before*."""
    after = observed(before, in_use, context.effects.now(), settle)
    if after != before:
        context.write_config(after)


def wake_before(context: QueueContext) -> None:
    """Wake a queue that this process knows to be idle, before a job is stored: an add can crash after that.

    Raises Conflict for a queue that is being removed.
    """
    known = context.config()
    if known.removing_us is not None:
        known = context.read_config() or context.config()
        refuse_removing(context.key.name, known)
    if known.idle_us is not None:
        wake(context)


def wake(context: QueueContext) -> None:
    """Read the config and wake the queue if it is idle or asleep; called when a job was stored.

    Raises Conflict for a queue that is being removed, and StoreUnavailable where the outcome is unknown or
    the queue was removed meanwhile: the add may be repeated.
    """
    for attempt in range(WAKE_ATTEMPTS):
        config = context.read_config()
        if config is None:
            raise removed_meanwhile(context.key.name)
        refuse_removing(context.key.name, config)
        if config.idle_us is None or context.write_config(woken(config)):
            return
        context.effects.pause(attempt)
    raise StoreUnavailable(f"queue {context.key.name!r} changes too often at the moment; retry")
