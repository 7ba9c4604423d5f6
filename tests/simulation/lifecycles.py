"""Scenarios of whole lifecycles: failures, endings of every kind, child batches, a clock that goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random

from fanin.tracker import Mode, Retention
from tests.simulating.faults import LATE, STALLED
from tests.simulation.scenario import (
    GUARDED_DIGITS,
    PAGES_A_LEVEL,
    POLICIES,
    AddScript,
    BatchScript,
    Scenario,
    adds_of,
    total_of,
)

HOUR = timedelta(hours=1)
LONG = 15 * 24 * HOUR
"""What an hour is in the lifecycles that last for months."""
SKEWS = (timedelta(0), timedelta(0), timedelta(seconds=5), timedelta(minutes=5))
LAGS = (0.0, 0.3, 0.8)
PERCENTS = (1, 20, 34, 50, 67, 100)
TICKS = ((timedelta(0), 0.0), (timedelta(seconds=4), 0.3), (timedelta(minutes=5), 0.2), (HOUR, 0.1))


def draw(random: Random) -> Scenario:
    """A scenario in which all that a batch can meet may happen."""
    bits = random.choice((2, 2, 2, 3, 3, 4, 7, 13))
    slow = random.random() < 0.1
    batches = _batches(random, bits, LONG if slow else HOUR)
    tick, rate = (LONG, 0.1) if slow else random.choice(TICKS)
    return Scenario(
        page_bits=(bits, bits),
        batches=batches,
        guarded_digits=random.choice((1, GUARDED_DIGITS)),
        pages_a_level=random.choice((1, PAGES_A_LEVEL)),
        room=random.choice((1, 2, 3, 8)),
        start_rate=random.choice((0.2, 0.5, 1.0)),
        eagerness=random.choice((0.03, 0.1, 0.3, 0.8)),
        fold=random.choice((1, 2, 4, 10)),
        junk_rate=random.choice((0.0, 0.0, 0.0, 0.1)),
        longest=random.choice((1, 2, bits, 2 * bits)),
        copies=random.choice(((1,), (1, 1, 1, 2), (1, 2, 3))),
        is_basic=False,
        tick=tick,
        tick_rate=rate,
        fresh_for=timedelta(seconds=random.choice((0, 5))),
        estimated_leaf=random.choice((2, 3, 5)),
        failing=random.choice((0.0, 0.2, 0.5, 1.0)),
        redelivered=random.choice((1.0, 1.0, 0.7, 0.0)),
        sweepers=random.choice((0, 1, 3, 6)),
        readers=random.choice((0, 0, 1, 3)),
        deaf=random.choice((0.0, 0.5, 1.0)),
        reopened=random.choice((0, 0, 1, 4)),
        folded=random.choice((0.0, 0.0, 0.5)),
        skew=random.choice(SKEWS),
        lag=random.choice(LAGS),
        slow=slow,
        keys=random.choice((0, 0, 0, 0, 1, 2)),
    )


def _batches(random: Random, bits: int, hour: timedelta) -> tuple[BatchScript, ...]:
    top = _batch(random, "top", bits, random.choice((0, 0, 1, 1, 2)), hour)
    return (top, _batch(random, "other", bits, 0, hour)) if random.random() < 0.2 else (top,)


def _batch(random: Random, name: str, bits: int, depth: int, hour: timedelta) -> BatchScript:
    """A batch, and below it as many levels of batches as *depth*."""
    total = total_of(random, bits) if depth == 0 else random.randint(1, 2 * bits)
    total = min(total, 30)
    adds = adds_of(random, name, total)
    estimated = not depth and random.random() < 0.2
    closers = [f"{name}-closer-{n}" for n in range(random.choice((1, 1, 2)))]
    sure = all(add.patience is None for add in adds)
    return BatchScript(
        name=name,
        adds=_with_children(random, name, bits, depth, adds, hour) if depth and sure else adds,
        closers=tuple(closers),
        open_key=f"open-{name}",
        openers=random.choice((1, 1, 2)),
        early=random.random() < 0.15,
        cancellers=random.choice((1, 1, 2)) if random.random() < 0.1 else 0,
        mode=Mode.ESTIMATED if estimated else Mode.EXACT,
        retention=_retention(random, hour),
        expected=total + (random.random() < 0.1) if random.random() < 0.15 else None,
        deadline=timedelta(minutes=random.choice((1, 10, 60, 300))) if random.random() < 0.2 else None,
        max_failures=random.randint(1, 3) if random.random() < 0.25 else None,
        max_failure_percent=random.choice(PERCENTS) if random.random() < 0.2 else None,
        cascades=depth > 0,
        fails_on=POLICIES[total % 3],
    )


def _with_children(
    random: Random, name: str, bits: int, depth: int, adds: tuple[AddScript, ...], hour: timedelta
) -> tuple[AddScript, ...]:
    """The adds, of which the first has one or two items that stand for batches, for one or two each."""
    siblings = random.choice((1, 1, 2))
    count = min(adds[0].count, random.choice((1, 1, 2))) * siblings
    children = tuple(_batch(random, f"{name}.{n}", bits, depth - 1, hour) for n in range(count))
    return (replace(adds[0], children=children, siblings=siblings), *adds[1:])


def _retention(random: Random, hour: timedelta = HOUR) -> Retention:
    kept = (random.choice((hour, 2 * hour, 8 * hour)) for _ in range(3))
    return Retention(*kept)


def draw_race(random: Random) -> Scenario:
    """A small batch where things meet: two outcomes of an item, a look and an ack, a crash and no caller."""
    bits = random.choice((2, 2, 3))
    total = random.choice((1, 2, bits, bits + 1, 2 * bits, bits * bits, bits * bits + 1, bits**3))
    base = Scenario(
        page_bits=(bits, bits),
        batches=(_small(random, total),),
        guarded_digits=GUARDED_DIGITS,
        room=random.choice((2, 3, 8)),
        eagerness=random.choice((0.3, 0.8)),
        longest=random.choice((1, 3)),
        is_basic=False,
        fresh_for=timedelta(seconds=random.choice((0, 5))),
        folded=random.choice((0.0, 0.0, 0.5)),
        skew=random.choice(SKEWS),
        lag=random.choice(LAGS),
    )
    kinds = (_of_outcomes, _of_failures, _of_folds, _at_edges, _with_orphans, _of_children)
    return random.choice(kinds)(random, base)


def _small(random: Random, total: int) -> BatchScript:
    return BatchScript(
        name="top",
        adds=adds_of(random, "top", total),
        closers=("top-closer-0",),
        open_key="open-top",
        cancellers=random.random() < 0.1,
        early=random.random() < 0.3,
        retention=_retention(random),
        max_failures=random.choice((None, None, 2)),
    )


def _of_outcomes(random: Random, base: Scenario) -> Scenario:
    """Failures and successes of the same items, in ranges that overlap."""
    name = base.batches[0].name
    batch = BatchScript(name, (AddScript(f"{name}-add", random.randint(4, 7)),), (f"{name}-closer",), "key")
    base = replace(base, page_bits=(7, 7), batches=(batch,), room=8, longest=4)
    return replace(base, failing=1.0, both=1.0, overlap=1.0, copies=(1, 1, 2), readers=1)


def _of_folds(random: Random, base: Scenario) -> Scenario:
    """Every ack is folded with others first, so that only a caller that folds ends the batch."""
    return replace(base, folded=1.0, failing=random.choice((0.2, 1.0)), fold=4, copies=(1, 1, 2))


def _of_failures(random: Random, base: Scenario) -> Scenario:
    """Failures that are just enough, while others are healed; a request for the end may arrive later."""
    name, total = base.batches[0].name, random.randint(4, 12)
    add = AddScript(f"{name}-add", total)
    batch = BatchScript(name, (add,), (f"{name}-closer",), "key", early=random.random() < 0.5)
    if random.random() < 0.5:
        batch = replace(batch, max_failures=random.randint(2, total // 2))
    else:
        batch = replace(batch, max_failure_percent=random.choice(PERCENTS))
    base = replace(base, batches=(batch,), room=random.choice((3, 8)), longest=1, failing=1.0)
    base = replace(base, skew=timedelta(0))  # when there were enough is judged to the moment
    return replace(
        base, both=random.choice((0.0, 0.5, 1.0)), struck=("transition", random.choice((LATE, STALLED)))
    )


def _at_edges(random: Random, base: Scenario) -> Scenario:
    """The clock goes from one planned look to the next."""
    rate = random.choice((0.05, 0.2))
    reopened = random.choice((0, 3))
    return replace(
        base, edges=True, tick_rate=rate, sweepers=4, copies=(1, 2), failing=0.2, reopened=reopened
    )


def _of_children(random: Random, base: Scenario) -> Scenario:
    """The children of one item end at about the same time, and keys of those that failed open others."""
    count, total = random.choice((2, 2, 3)), random.choice((1, 2, 3))
    children = tuple(
        BatchScript(
            name=f"child-{n}",
            adds=(AddScript(f"child-{n}-add", 1),) if random.random() < 0.7 else (),
            closers=(f"child-{n}-closer",),
            open_key=f"open-child-{n}",
            early=random.random() < 0.3,
            cancellers=random.random() < 0.4,
            retention=_retention(random),
            fails_on=POLICIES[(n + count) % 3],
        )
        for n in range(count)
    )
    adds = (AddScript("top-add", total, children=children, siblings=count),)
    batch = BatchScript("top", adds, ("top-closer",), "open-top", retention=_retention(random))
    if total > 2:
        base, batch = replace(base, edges=True, tick_rate=0.02), _cascading(batch)
    return replace(
        base,
        batches=(batch,),
        room=random.choice((3, 8)),
        reopened=random.choice((0, 2)),
        failing=random.choice((0.0, 0.5)),
        redelivered=random.choice((1.0, 1.0, 0.5)),
        sweepers=random.choice((0, 2)) + 3 * base.edges,
    )


def _cascading(batch: BatchScript) -> BatchScript:
    """The batch, cancelled at last with its children, of which the first has one and is never closed."""
    (add,) = batch.adds
    below = BatchScript("below", (AddScript("below-add", 1),), ("below-closer",), "open-below")
    adds = (AddScript("first-add", 1, children=(below,)),)
    first = replace(add.children[0], adds=adds, closers=(), cancellers=0)
    adds = (replace(add, children=(first, *add.children[1:])),)
    return replace(batch, adds=adds, cancellers=1, cascades=True)


def _with_orphans(random: Random, base: Scenario) -> Scenario:
    """Who dies is not replaced: whatever is cut short then is for the sweeper."""
    return replace(base, redelivered=random.choice((0.0, 0.5)), failing=random.choice((0.0, 0.3)))
