"""What is stored of a queue as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fanin.errors import Conflict, InvalidRequest, StoreUnavailable
from fanin.queue.rules.keys import PARTS_MAX


class Phase(StrEnum):
    """How far a raise of the parts has come: docs/how_the_queue_works.md has the rules of each phase."""

    STEADY = "steady"
    PREPARING = "preparing"
    DRAINING = "draining"
    EXPIRING = "expiring"


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """The config of a queue; *parts*: the number of parts that can hold jobs.

    *doorbell*: the URL of its doorbell; None until it has one.
    *revision*: 0 when it is created, one more with each change; a change is written on condition of the
    revision that it replaces. While the parts are raised: *before*: their old number, *phase*: how far the
    raise has come, *since_us*: when a sweep first saw that phase, *cursor*: the last drained row of the old.
    *idle_us*: since when the sweep has found no live job and no outbox entry; None while the queue is in use.
    *asleep_us*: since when the minute's sweep leaves the queue out. *removing_us*: since when the queue is
    being removed; *removed_us*: when that was done. *metrics*: whether the sweep emits metrics of this queue.
    *paused*: whether no job is claimed.
    """

    parts: int
    revision: int = 0
    doorbell: str | None = None
    before: int | None = None
    phase: Phase = Phase.STEADY
    since_us: int | None = None
    cursor: str = ""
    idle_us: int | None = None
    asleep_us: int | None = None
    removing_us: int | None = None
    removed_us: int | None = None
    metrics: bool = False
    paused: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.parts <= PARTS_MAX:
            raise InvalidRequest(f"a queue has 1 to {PARTS_MAX} parts", field="parts")


def refuse_removing(name: str, config: QueueConfig) -> None:
    """Raise Conflict if the queue *name* is being removed."""
    if config.removing_us is not None:
        raise Conflict(f"queue {name!r} is being removed; it can be created again once it is gone")


def removed_meanwhile(name: str) -> StoreUnavailable:
    """Return the error of a change of the queue *name*, which was removed since it was read."""
    return StoreUnavailable(f"queue {name!r} was removed at the same time; retry")


def existing(config: QueueConfig | None) -> QueueConfig | None:
    """Return the config of a queue that exists; None where it is that of a removed one."""
    return None if config is None or config.removed_us is not None else config
