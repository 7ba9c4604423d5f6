"""What a run is about, as plain values: the tasks, how they are bundled, what goes wrong, and how often."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random

from fanin.grouper import Isolation, Policies, Policy
from tests.simulating.faults import ON_TRANSACTIONS, Fault

START = datetime(2026, 3, 1, tzinfo=UTC)
TICK = timedelta(milliseconds=100)
LEASE = timedelta(seconds=6)
CALL = timedelta(seconds=6)
LAGS = ((0.0, 0.0), (0.5, 0.0), (2.0, 0.05), (2.0, 0.3))
"""Seconds by which the indexes lag at most, and the share of writes that they show up to 20 s late."""
CALM_LAGS = ((0.0, 0.0), (0.0, 0.0), *LAGS[1:])
MINUTES = 300.0
"""The seconds by which the clocks of some runs are wrong."""
LONGER = 1.5
"""The leases of target B, by those of target A."""
VISIBILITY = timedelta(seconds=9)
RECEIVES_MAX = 6


@dataclass(frozen=True, slots=True)
class Wanted:
    """A task that callers register, *callers* times, at a moment. *poison*: refuse, hang or nothing.

    *use*: the number of uses of the id before it; after one task has expired, the next is another.
    """

    task_id: str
    target: str
    at: timedelta
    callers: int
    patience: int
    priority: int
    poison: str
    use: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run. Rates are chances a request; counts are how often at most.

    *skew*: the seconds by which a clock is wrong at most; *jumps*: how often one is set anew.
    """

    tasks: tuple[Wanted, ...]
    policy: Policy
    chunk: int
    rounds: int
    lag: tuple[float, float]
    faults: tuple[Fault, ...]
    fault_rate: float
    fault_count: int
    pauses: int
    duplicates: int
    skew: float
    jumps: int
    failures: int
    by_member: bool

    @property
    def calm(self) -> bool:
        """Whether nothing goes wrong in this run, so that the plain promises hold too."""
        return self.only_lags and not any(self.lag)

    @property
    def only_lags(self) -> bool:
        """Whether nothing goes wrong in this run, except by lagging indexes."""
        trouble = self.fault_count or self.pauses or self.duplicates or self.failures or self.skew
        return not trouble and not any(task.poison for task in self.tasks)


def draw(random: Random) -> Scenario:
    """The scenario of a seed."""
    calm = random.random() < 0.1
    size = random.choice((1, 2, 3, 3, 4))
    share = random.choice((0.3, 0.6, 1.0))
    return Scenario(
        tasks=_tasks(random, 0.0 if calm else random.choice((0.0, 0.08, 0.3))),
        policy=_policy(random, size),
        chunk=random.choice((1, 2, 2, 4)),
        rounds=random.choice((1, 2, 3)),
        lag=random.choice(CALM_LAGS if calm else LAGS),
        faults=tuple(fault for fault in ON_TRANSACTIONS if random.random() < share),
        fault_rate=random.choice((0.03, 0.08, 0.15, 0.3)),
        fault_count=0 if calm else random.choice((0, 2, 6, 14, 30)),
        pauses=0 if calm else random.choice((0, 0, 1, 3)),
        duplicates=0 if calm else random.choice((0, 1, 3, 8)),
        skew=(skew := 0.0 if calm else random.choice((0.0, 0.0, 0.0, 1.0, 8.0, 8.0, MINUTES))),
        jumps=random.choice((0, 2, 8)) if skew else 0,
        failures=0 if calm else random.choice((0, 0, 1, 4, 20)),
        by_member=random.random() < 0.4,
    )


def drawn_skew(random: Random, most: float) -> timedelta:
    """Return the error of a clock that is wrong by *most* seconds at most."""
    return timedelta(seconds=most * (2 * random.random() - 1))


def _policy(random: Random, size: int) -> Policy:
    linger = timedelta(seconds=random.choice((0, 1, 1, 2)))
    return Policy(
        linger=linger,
        max_delay=linger + timedelta(seconds=random.choice((0, 0, 0, 3))),
        max_size=size,
        shards=random.choice((1, 1, 1, 2)),
        rate=random.choice((None, None, None, 0.5, 2.0)),
        burst=random.choice((1, 2)),
        isolation=random.choice(tuple(Isolation)),
        max_attempts=random.choice((3, 4, 6)),
        in_place=random.choice((0, 0, 1, 2)),
        lease=LEASE,
        call_lease=CALL,
    )


def policies(policy: Policy) -> Policies:
    """Return the policies of both targets: a leader and a call of B have longer leases."""
    longer = replace(policy, lease=policy.lease * LONGER, call_lease=policy.call_lease * LONGER)
    return Policies((("B", longer),), policy)


def _tasks(random: Random, poison_rate: float) -> tuple[Wanted, ...]:
    spread = random.choice((10, 60, 120))
    return tuple(
        Wanted(
            task_id=f"task-{number}",
            target=random.choice("AAB"),
            at=TICK * random.randrange(spread),
            callers=random.choice((1, 1, 1, 2)),
            patience=random.choice((1, 3)),
            priority=random.choice((0, 0, 7)),
            poison=random.choice(("refuse", "hang")) if random.random() < poison_rate else "",
        )
        for number in range(random.choice((1, 2, 4, 5, 6, 8)))
    )
