"""What is stored of a queue as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fanin.errors import InvalidRequest
from fanin.queue.keys import PARTS_MAX


class Phase(StrEnum):
    """How far a raise of the parts has come; ``widening`` has the rules of each phase."""

    STEADY = "steady"
    PREPARING = "preparing"
    DRAINING = "draining"
    EXPIRING = "expiring"


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """The config of a queue; *parts*: the number of parts that can hold jobs.

    *doorbell*: the URL of its doorbell; None until it has one, as in rows of version 0.1.
    *revision*: 0 when it is created, one more with each change; a change is written on condition of the
    revision that it replaces. While the parts are raised: *before*: their old number, *phase*: how far the
    raise has come, *since_us*: when a sweep first saw that phase, *cursor*: the last drained row of the old.
    """

    parts: int
    revision: int = 0
    doorbell: str | None = None
    before: int | None = None
    phase: Phase = Phase.STEADY
    since_us: int | None = None
    cursor: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.parts <= PARTS_MAX:
            raise InvalidRequest(f"a queue has 1 to {PARTS_MAX} parts", field="parts")
