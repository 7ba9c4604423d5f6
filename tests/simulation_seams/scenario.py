"""What a run is about, as plain values: batches, the plans of their items, and the faults."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from fanin.tracker import OpenBatch, Retention
from tests.simulating.faults import ON_TRANSACTIONS, Fault
from tests.simulation.scenario import POLICIES

START = datetime(2026, 3, 1, tzinfo=UTC)
TENANT = "t"
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DEPTH_MAX = 3
WEBHOOK = "audit"
CALLBACKS = ("orders", WEBHOOK)
THRESHOLDS = ("firstFailure", "50%", "90%")
WORK, RAISE, POISON, CHILD, TASK, JOB = "work", "raise", "poison", "child", "task", "job"
REPORT = "report"
FOR_GOOD = "it can never be done"
"""The reason of a failure for good."""
BEFORE, INSIDE, AFTER = "before", "inside", "after"
AT_ONCE, SOME = 0.5, 0.2
"""The parts of the seeds in which a process puts the event of a batch that it completes on the bus, and works
in each of the other ways."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the work on an item is: one of the kinds above; REPORT: it reports its failure.

    *raises*: so often it raises before that, *where*: before its item has an owner, in the block of a batch
    that it opens, or after it. *for_good*: it then fails for good at the same place. *children*: how many
    batches it opens; *adds*, *options*: of each; *keyed*: whether the first one is opened under a key of its
    own, as all others are. *asks*: whether it asks if its batch is over. *careless*: it returns although a
    request of its hand-over failed.
    """

    kind: str = WORK
    raises: int = 0
    where: str = BEFORE
    seconds: float = 0.0
    asks: bool = False
    careless: bool = False
    adds: tuple[int, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    keyed: bool = False
    children: int = 1
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class BatchScript:
    """One batch that a publisher opens, fills, sends and closes. *options*: those of open."""

    name: str
    adds: tuple[int, ...]
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run.

    *kinds*: what items may be, each as likely as the others. *raising*: how likely an item raises at first,
    *stubborn*: and never stops. *slots*: deliveries at once; *fold*: messages in a delivery, at most;
    *duplicates* and *kills*: how often at most. *fail_after* and *max_receives* are those of the queue's
    consumer. *tick*: how far the clock goes in a step. *lost*: the part of the events that the stream loses.
    *fault_rate*: a request; *fault_count*: at most, of them *crashes*. *cancels*: at most. *repairs*: how
    often at most an ended batch is reopened or deleted. *longest*: seconds that work takes. *poisons*: items
    that end their process, at most; *alone*: nothing else goes wrong. *chunk*: items in a message; 0: a
    message is of one item. *skew*: how far the clocks of processes are from the true time, at most; *lag*:
    how likely a row of an index is an old one. *at_once*: a process puts the event of a batch that it
    completes on the bus. *in_order*: the queues are FIFO queues. *threads*: a process works on several
    deliveries at once. *reporting*: how likely the work on an item is to report its failure, *failing*: to
    raise one for good. *by_hand*: how often at most all items of a batch with failures are done by hand.
    *loops*: whether the function of the consumer may loop. *bounded*: batches end by enough successes or a
    sample of failures, or have caps. *workers*: processes outside of Lambda that work on a queue, at most; 0:
    Lambda does. *freezes*: how often at most one of them is frozen. *results*: whether batches keep results.
    """

    batches: tuple[BatchScript, ...]
    page_bits: int = 7
    kinds: tuple[str, ...] = (WORK,)
    raising: float = 0.0
    stubborn: float = 0.0
    slots: int = 2
    fold: int = 10
    duplicates: int = 0
    kills: int = 0
    fail_after: int | None = None
    max_receives: int = 4
    tick: timedelta = timedelta(milliseconds=200)
    fresh_for: timedelta = timedelta(seconds=5)
    lost: float = 0.0
    fault_rate: float = 0.0
    fault_count: int = 0
    crashes: int = 0
    faults: frozenset[Fault] = frozenset()
    cancels: int = 0
    repairs: int = 0
    longest: float = 1.0
    poisons: int = 3
    alone: bool = False
    chunk: int = 0
    skew: timedelta = timedelta(0)
    lag: float = 0.0
    at_once: bool = False
    in_order: bool = False
    threads: bool = False
    reporting: float = 0.0
    failing: float = 0.0
    by_hand: int = 0
    loops: bool = True
    bounded: bool = False
    workers: int = 0
    freezes: int = 0
    results: bool = False


def draw(random: Random) -> Scenario:
    """Draw a run: in one of eight, a poisoned item is all that goes wrong."""
    return _poisoned(random) if random.random() < 0.12 else _any(random)


def with_ways(scenario: Scenario, random: Random) -> Scenario:
    """Return the scenario with the ways in which its processes work, drawn by themselves."""
    scenario = replace(scenario, at_once=random.random() < AT_ONCE)
    if scenario.alone:
        return scenario
    in_order, threads = random.random() < SOME, random.random() < SOME
    reporting = random.choice((0.3, 1.0)) if random.random() < SOME else 0.0
    by_hand = random.choice((1, 4)) if random.random() < SOME else 0
    failing = random.choice((0.2, 0.5)) if random.random() < SOME else 0.0
    scenario = replace(scenario, reporting=reporting, failing=failing, by_hand=by_hand)
    return replace(scenario, in_order=in_order, threads=threads)


def with_bounds(scenario: Scenario, random: Random) -> Scenario:
    """Return the scenario with batches that end early, and with caps."""
    batches = tuple(
        replace(batch, options=batch.options | _bounds(random, sum(batch.adds))) for batch in scenario.batches
    )
    return replace(scenario, batches=batches, bounded=True)


def _bounds(random: Random, total: int) -> dict[str, Any]:
    """Return the options by which a batch of *total* items ends early, or takes no more."""
    bounds: dict[str, Any] = {}
    if random.random() < 0.7:
        bounds["min_succeeded"] = random.randint(1, max(1, total))
    else:
        bounds["min_succeeded_percent"] = random.choice((20, 50, 67, 100))
    if random.random() < 0.3:
        bounds |= {"max_failure_percent": random.choice((20, 50)), "failure_sample": random.randint(1, 3)}
    if random.random() < 0.2:
        bounds["max_items"] = max(random.randint(1, max(1, total)), bounds.get("min_succeeded", 1))
    # It is checked each minute as long as it is alive.
    return bounds | {"retention": Retention(HOUR, HOUR, HOUR)}


def with_workers(scenario: Scenario, random: Random) -> Scenario:
    """Return the scenario with workers outside of Lambda in some of the runs, drawn by themselves."""
    if random.random() >= SOME:
        return scenario
    freezes = 0 if scenario.alone else random.choice((0, 0, 2))
    workers, tick = random.choice((1, 1, 2)), min(scenario.tick, timedelta(milliseconds=500))
    return replace(scenario, workers=workers, freezes=freezes, threads=True, tick=tick)


def with_results(scenario: Scenario, random: Random) -> Scenario:
    """Return the scenario with batches that keep results in some of the runs, drawn by themselves."""
    if random.random() >= SOME:
        return scenario
    batches = tuple(replace(each, options=each.options | {"results": True}) for each in scenario.batches)
    return replace(scenario, batches=batches, results=True)


def _poisoned(random: Random) -> Scenario:
    """Draw a run in which one item always ends its process, and nothing else goes wrong."""
    count = random.choice((2, 5, 10, 20))
    return Scenario(
        batches=(BatchScript("root", (count,)),),
        kinds=(WORK,) * random.choice((1, 4, 10)) + (POISON,),
        slots=random.choice((1, 2, 3)),
        max_receives=random.choice((3, 4, 6)),
        tick=timedelta(milliseconds=random.choice((50, 500))),
        longest=0.5,
        poisons=1,
        alone=True,
        chunk=random.choice((0, 0, 4)),
    )


def _any(random: Random) -> Scenario:
    batches = tuple(_batch(random, f"root {number}") for number in range(random.choice((1, 1, 1, 2))))
    max_receives = random.choice((2, 3, 4, 6))
    calm = random.random() < 0.3
    share = random.choice((0.2, 0.5, 1.0))
    return Scenario(
        batches=batches,
        page_bits=random.choice((2, 3, 7, 64)),
        kinds=_kinds(random),
        raising=random.choice((0.0, 0.0, 0.2, 0.6)),
        stubborn=random.choice((0.0, 0.3)),
        slots=random.choice((1, 2, 3)),
        fold=random.choice((1, 3, 10)),
        duplicates=random.choice((0, 0, 1, 4)),
        kills=0 if calm else random.choice((0, 1, 3)),
        fail_after=random.choice((None, None, 1, max_receives)),
        max_receives=max_receives,
        tick=timedelta(milliseconds=random.choice((50, 500, 4000))),
        fresh_for=timedelta(seconds=random.choice((0, 5, 5))),
        lost=random.choice((0.0, 0.0, 0.3, 1.0)),
        fault_rate=0.0 if calm else random.choice((0.02, 0.1, 0.3)),
        fault_count=random.choice((3, 10, 25)),
        crashes=random.choice((0, 2, 8)),
        faults=frozenset(fault for fault in ON_TRANSACTIONS if random.random() < share),
        cancels=random.choice((0, 0, 0, 1, 2)),
        repairs=random.choice((0, 0, 2, 4)),
        longest=random.choice((0.1, 1.0, 4.0)),
        chunk=random.choice((0, 0, 1, 2, 4, 16)),
        skew=timedelta(seconds=random.choice((0, 0, 5, 300))),
        lag=random.choice((0.0, 0.0, 0.5)),
    )


def _kinds(random: Random) -> tuple[str, ...]:
    """Return what items may be: some of everything, in half of the runs work alone."""
    found = [kind for kind in (POISON, CHILD, CHILD, TASK, JOB) if random.random() < 0.35]
    return (WORK,) * random.choice((1, 2, 6)) + tuple(found)


def _batch(random: Random, name: str) -> BatchScript:
    count = random.choice((0, 1, 1, 2, 3, 5, 8, 12))
    cut = random.randint(0, count)
    adds = tuple(size for size in (cut, count - cut) if size)
    return BatchScript(name, adds, options_of(random))


def options_of(random: Random) -> dict[str, Any]:
    """Return the options of a batch: it may end early, and be waited for."""
    options: dict[str, Any] = {}
    if random.random() < 0.2:
        options["max_failures"] = random.randint(1, 3)
    if hasattr(OpenBatch(), "max_failure_percent") and random.random() < 0.1:
        options["max_failure_percent"] = random.choice((1, 34, 50, 100))
    if random.random() < 0.1:
        options["deadline"] = timedelta(seconds=random.choice((5, 90, 600)))
    if random.random() < 0.1:
        options["retention"] = Retention(*(random.choice((2 * MINUTE, HOUR, 8 * HOUR)) for _ in range(3)))
    return options | _waited_for(random)


def _waited_for(random: Random) -> dict[str, Any]:
    """Return the options by which a caller waits for a batch, or is notified before its end."""
    options: dict[str, Any] = {}
    if random.random() < 0.3:
        options["callback"] = random.choice(CALLBACKS)
    if random.random() < 0.3:
        options["notify_at"] = [each for each in THRESHOLDS if random.random() < 0.6]
    if random.random() < 0.2:
        options["stuck_after"] = random.choice((1, 3)) * MINUTE
    if random.random() < 0.15:
        token = f"token-{random.getrandbits(32):x}"
        options |= {"task_token": token, "on_failures": random.choice(("succeed", "fail"))}
        options["deadline"] = timedelta(seconds=random.choice((90, 7200)))
    if "notify_at" in options or "stuck_after" in options:
        options["retention"] = Retention(HOUR, HOUR, HOUR)  # it is checked each minute as long as it is alive
    return options


def plan_of(random: Random, scenario: Scenario, depth: int) -> Plan:
    """Return the plan of an item at a depth of batches within batches."""
    kind = random.choice(scenario.kinds)
    if kind == CHILD and depth >= DEPTH_MAX:
        kind = WORK
    if kind == WORK and scenario.reporting and random.random() < scenario.reporting:
        kind = REPORT
    raises = 0
    if random.random() < scenario.raising:
        raises = 99 if random.random() < scenario.stubborn else random.randint(1, 2)
    plan = Plan(
        kind,
        raises,
        random.choice((BEFORE, INSIDE, AFTER)) if kind not in (WORK, REPORT) else BEFORE,
        random.random() * scenario.longest,
        random.random() < 0.1,
        random.random() < 0.2,
        for_good=kind != REPORT and scenario.failing > 0 and random.random() < scenario.failing,
    )
    if kind != CHILD:
        return plan
    adds = random.choice(((), (1,), (2,), (1, 2), (3,)))
    children = random.choice((1, 1, 1, 2))
    keyed = random.random() < 0.2
    options = options_of(random) | {"parent_fails_on": POLICIES[(len(adds) + children) % 3]}
    options |= _bounds(random, sum(adds)) if scenario.bounded else {}
    return replace(plan, adds=adds, options=options, keyed=keyed, children=children)
