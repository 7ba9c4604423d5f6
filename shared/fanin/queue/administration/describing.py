"""Describes a queue: its config, how many jobs it has, and whether it is in use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fanin.errors import NotFound
from fanin.queue.administration.counting import depth_of
from fanin.queue.administration.part_reads import look_at_first
from fanin.queue.context import QueueContext
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.model import Depth


class Activity(StrEnum):
    """Whether the sweep visits a queue each minute, every five (idle), once a day (asleep), or removes it."""

    IN_USE = "inUse"
    IDLE = "idle"
    ASLEEP = "asleep"
    REMOVING = "removing"


@dataclass(frozen=True, slots=True)
class CountedDepth:
    """A depth, and when it was counted; *dead_us*: when its dead jobs were, which take longer to count."""

    depth: Depth
    at_us: int
    dead_us: int


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """A queue: its config and its depth, which was counted at *counted_us*."""

    name: str
    config: QueueConfig
    depth: Depth
    counted_us: int

    @property
    def activity(self) -> Activity:
        config = self.config
        if config.removing_us is not None:
            return Activity.REMOVING
        if config.asleep_us is not None:
            return Activity.ASLEEP
        return Activity.IN_USE if config.idle_us is None else Activity.IDLE


def status_of(context: QueueContext) -> QueueStatus:
    """Return the status of a queue. Raises NotFound for a queue that does not exist."""
    status = describe(context)
    if status is None:
        raise NotFound(f"queue {context.key.name!r} does not exist")
    return status


def describe(context: QueueContext) -> QueueStatus | None:
    """Return the status of a queue, with bounded reads; None for a queue that does not exist."""
    config = context.read_config()
    if config is None:
        return None
    looks = look_at_first(context, [context.part(number) for number in range(config.parts)])
    return QueueStatus(context.key.name, config, depth_of(context, looks), context.effects.now())
