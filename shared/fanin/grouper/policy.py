"""How the tasks of a target are bundled, by pattern of its name, and the durations of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from fnmatch import fnmatchcase

from fanin.errors import InvalidRequest

SIZE_MAX = 1000
"""Members of a bundle at most: ids and outcomes stay under 300 KB; a DynamoDB item may have 400 KB."""
DELAY_MAX = timedelta(seconds=900)
"""The longest delay of an SQS message."""


class Isolation(StrEnum):
    """How members of a bundle that was refused as a whole are retried: one by one, or in two halves."""

    SOLO = "solo"
    HALVES = "halves"


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of the targets of one pattern.

    *linger*: how long a new task waits for others. *max_delay*: how long it waits at most for a full bundle;
    not less than *linger*. *max_size*: members of a bundle, 1 to 1,000. *shards*: lanes of a target; more
    than one only if a single index partition is too slow. *rate*: calls a second, None for no limit; *burst*
    of them may be made at once. *max_attempts*: of a bundle, and of the retries of a single task. *in_place*:
    repetitions of a call within one delivery, before the bundle goes back to the queue.
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
            raise InvalidRequest(
                "lingerSeconds and maxDelaySeconds must keep 0 <= linger <= maxDelay <= 900", field="maxDelay"
            )
        if self.rate is not None and not 0.001 <= self.rate <= 100_000:
            raise InvalidRequest("rate must be 0.001 to 100000 calls a second", field="rate")


@dataclass(frozen=True, slots=True)
class Policies:
    """Policies by pattern; the first that matches applies. ``*`` matches any characters, ``?`` one."""

    patterns: Sequence[tuple[str, Policy]] = ()
    default: Policy = field(default_factory=Policy)

    def of(self, target: str) -> Policy:
        """Return the policy of *target*."""
        return next(
            (policy for pattern, policy in self.patterns if fnmatchcase(target, pattern)), self.default
        )


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations and bounds of the protocol.

    *lease*: of a leader, which stops filling *margin* before its end. *call*: the lease of a call, from its
    start to its stored outcome; longer than the batch API's timeout. *rounds*: bundles that one leader fills
    at most. *chunk*: tasks that one transaction claims, at most 98: with the bundle 99 of its 100 actions.
    *pending* and *ended*: the retention of tasks before and after their end.
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
        """How long the sweeper waits for progress before it sends a message again."""
        return 2 * self.lease


def _bounded(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InvalidRequest(f"{name} must be {low} to {high}", field=name)
