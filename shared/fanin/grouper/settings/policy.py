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
LEASE_MIN, LEASE_MAX = timedelta(seconds=5), timedelta(seconds=300)
"""A leader stops filling 3 s before its lease ends; its function runs for two leases, of Lambda's 900 s."""
CALL_LEASE_MIN, CALL_LEASE_MAX = timedelta(seconds=5), timedelta(seconds=840)
"""The function that calls has a minute more to apply the outcome; Lambda allows 900 s."""


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
    repetitions of a call within one delivery, before the bundle goes back to the queue. *lease*: of a leader.
    *call_lease*: of a call, from its start to its stored outcome. *call_timeout*: how long the batch API may
    take, half of *call_lease* at most; None for the timeout of the batch API.
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
    lease: timedelta = timedelta(seconds=15)
    call_lease: timedelta = timedelta(seconds=60)
    call_timeout: timedelta | None = None

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
        _lasting("leaseSeconds", self.lease, LEASE_MIN, LEASE_MAX)
        _lasting("callLeaseSeconds", self.call_lease, CALL_LEASE_MIN, CALL_LEASE_MAX)
        if self.call_timeout is not None:
            self.check_timeout("callTimeoutSeconds", self.call_timeout)

    @property
    def overdue(self) -> timedelta:
        """How long the sweeper waits for progress before it sends a message again."""
        return 2 * self.lease

    @property
    def longest_call(self) -> timedelta:
        """Half of a call's lease: the rest is for reading the members and storing the outcome."""
        return self.call_lease / 2

    def check_timeout(self, name: str, timeout: timedelta) -> None:
        """Refuse a *timeout* of a call that does not leave the time to store the outcome."""
        if not timedelta() < timeout <= self.longest_call:
            raise InvalidRequest(
                f"{name} is {timeout.total_seconds():g}; it must be more than 0 and at most"
                f" {self.longest_call.total_seconds():g}, half of callLeaseSeconds, so that the outcome is"
                " stored before the lease of the call ends",
                field=name,
            )


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

    def all(self) -> tuple[Policy, ...]:
        """Return every policy, the default among them."""
        return (*(policy for _, policy in self.patterns), self.default)

    @property
    def longest_lease(self) -> timedelta:
        """The longest lease of a leader."""
        return max(policy.lease for policy in self.all())

    @property
    def longest_call_lease(self) -> timedelta:
        """The longest lease of a call."""
        return max(policy.call_lease for policy in self.all())

    @property
    def soonest_overdue(self) -> timedelta:
        """The shortest time without progress after which the sweeper sends a message again."""
        return min(policy.overdue for policy in self.all())


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations and bounds of the protocol that are the same for all targets.

    *margin*: a leader stops filling that long before its lease ends. *rounds*: bundles that it fills at most.
    *chunk*: tasks that one transaction claims, at most 98: with the bundle 99 of its 100 actions. *pending*
    and *ended*: the retention of tasks before and after their end.
    """

    margin: timedelta = timedelta(seconds=3)
    rounds: int = 10
    chunk: int = 98
    pending: timedelta = timedelta(days=14)
    ended: timedelta = timedelta(days=7)


def _lasting(name: str, value: timedelta, low: timedelta, high: timedelta) -> None:
    if not low <= value <= high:
        raise InvalidRequest(
            f"{name} must be {low.total_seconds():g} to {high.total_seconds():g}", field=name
        )


def _bounded(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InvalidRequest(f"{name} must be {low} to {high}", field=name)
