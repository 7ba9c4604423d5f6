"""How a target wants its tasks bundled, by pattern of its name, and the times that the protocol keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from fnmatch import fnmatchcase

from fanin.errors import InvalidRequest

SIZE_MAX = 1000
"""Members a bundle may have: their ids and outcomes stay under 300 KB, an item of DynamoDB under 400."""
DELAY_MAX = timedelta(seconds=900)
"""The longest delay of a message on SQS."""


class Isolation(StrEnum):
    """How members of a bundle that was refused as a whole are tried again."""

    SOLO = "solo"
    HALVES = "halves"


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for the targets of one pattern.

    *linger*: how long a new task waits for others. *max_delay*: how long it goes on waiting while a bundle
    is not full; not less than *linger*. *max_size*: members of a bundle, 1 to 1,000. *shards*: lanes of a
    target; more than one only where a single index partition is too slow. *rate*: calls a second, None for
    no limit, of which *burst* may come at once. *max_attempts*: of a bundle, and of a task's own retries.
    *in_place*: repeats of a call within one delivery, before the bundle goes back to the queue.
    """

    linger: timedelta = timedelta(seconds=1)
    max_delay: timedelta = timedelta(seconds=1)
    max_size: int = 100
    shards: int = 1
    rate: float | None = None
    burst: int = 1
    isolation: Isolation = Isolation.SOLO
    max_attempts: int = 8
    in_place: int = 0

    def __post_init__(self) -> None:
        _bounded("maxSize", self.max_size, 1, SIZE_MAX)
        _bounded("shards", self.shards, 1, 64)
        _bounded("burst", self.burst, 1, 1000)
        _bounded("maxAttempts", self.max_attempts, 1, 100)
        _bounded("inPlace", self.in_place, 0, 10)
        if not timedelta() <= self.linger <= self.max_delay <= DELAY_MAX:
            raise InvalidRequest("0 <= linger <= maxDelay <= 900 s", field="maxDelay")
        if self.rate is not None and not 0.001 <= self.rate <= 100_000:
            raise InvalidRequest("rate goes from 0.001 to 100000 calls a second", field="rate")


@dataclass(frozen=True, slots=True)
class Policies:
    """The first pattern that fits a target decides; ``*`` and ``?`` stand for any characters and for one."""

    patterns: Sequence[tuple[str, Policy]] = ()
    default: Policy = field(default_factory=Policy)

    def of(self, target: str) -> Policy:
        return next(
            (policy for pattern, policy in self.patterns if fnmatchcase(target, pattern)), self.default
        )


@dataclass(frozen=True, slots=True)
class Timing:
    """The protocol's own times.

    *lease*: of a leader, who stops filling *margin* before its end. *call*: how long a handler may take
    from the begin of a call to its recorded outcome; longer than the downstream API's timeout. *rounds*:
    bundles that one leader fills at most. *chunk*: tasks that one transaction claims, 98 at most: with the
    bundle 99 actions of the 100 that it may have. *pending* and *ended*: how long tasks are kept.
    """

    lease: timedelta = timedelta(seconds=15)
    margin: timedelta = timedelta(seconds=3)
    call: timedelta = timedelta(seconds=60)
    rounds: int = 10
    chunk: int = 98
    pending: timedelta = timedelta(days=14)
    ended: timedelta = timedelta(days=7)

    @property
    def overdue(self) -> timedelta:
        """After this long without progress the sweeper lends a hand."""
        return 2 * self.lease


def _bounded(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InvalidRequest(f"{name} goes from {low} to {high}", field=name)
