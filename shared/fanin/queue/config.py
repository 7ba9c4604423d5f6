"""What is stored of a queue as a whole."""

from __future__ import annotations

from dataclasses import dataclass

from fanin.errors import InvalidRequest
from fanin.queue.keys import PARTS_MAX


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """The config of a queue; *parts*: the number of its parts.

    *revision*: 0 when it is created, one more with each change; a change is written on condition of the
    revision that it replaces.
    """

    parts: int
    revision: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.parts <= PARTS_MAX:
            raise InvalidRequest(f"a queue has 1 to {PARTS_MAX} parts", field="parts")
