"""Scenarios of batches that end by enough successes, or by a sample of failures, and of their caps."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from fanin.tracker import Mode
from tests.simulation import lifecycles
from tests.simulation.scenario import GUARDED_DIGITS, PAGES_A_LEVEL, AddScript, BatchScript, Scenario, adds_of


def is_due(seed: int) -> bool:
    """Whether a seed runs one of these scenarios; the others stay as they are."""
    return seed % 10 == 8


def draw(random: Random) -> Scenario:
    """A whole lifecycle, the first of whose batches ends so."""
    drawn = lifecycles.draw(random)
    first, *others = drawn.batches
    return replace(drawn, batches=(_bounded(random, first), *others), sweepers=random.choice((0, 3, 6)))


def draw_race(random: Random) -> Scenario:
    """A small batch whose end meets its close, its failures, its cancel, and acks that come after it."""
    bits = random.choice((2, 3, 3, 5))
    total = random.choice((2, bits, bits, bits + 1, 2 * bits))
    batch = BatchScript(
        name="top",
        adds=adds_of(random, "top", total),
        closers=("top-closer-0",),
        open_key="open-top",
        early=random.random() < 0.2,
        cancellers=random.random() < 0.15,
        retention=lifecycles._retention(random),
        max_failures=random.choice((None, None, 2)),
    )
    base = Scenario(
        page_bits=(bits, bits),
        batches=(batch,),
        guarded_digits=random.choice((1, GUARDED_DIGITS)),
        pages_a_level=random.choice((1, PAGES_A_LEVEL)),
        room=random.choice((2, 3, 8)),
        eagerness=random.choice((0.3, 0.8)),
        fold=random.choice((1, 2, 4)),
        longest=random.choice((1, 1, 2)),
        copies=random.choice(((1,), (1, 2))),
        is_basic=False,
        failing=random.choice((0.0, 0.3, 0.6)),
        both=random.choice((0.0, 0.5)),
        folded=random.choice((0.0, 0.0, 0.5)),
        edges=True,
        tick_rate=random.choice((0.02, 0.2)),
        sweepers=random.choice((0, 2, 4)),
    )
    kinds = (_of_bounds, _of_bounds, _of_samples, _of_caps)
    return random.choice(kinds)(random, base)


def _of_bounds(random: Random, base: Scenario) -> Scenario:
    return replace(base, batches=(_bounded(random, base.batches[0]),))


def _of_samples(random: Random, base: Scenario) -> Scenario:
    """Items that fail, and are healed, while sweepers count them; they are enough only together."""
    batch = replace(base.batches[0], max_failures=None, early=False, cancellers=0)
    if random.random() < 0.5:
        sample, percent = random.randint(1, 3), random.choice((20, 34, 50, 67))
        batch = replace(batch, failure_sample=sample, max_failure_percent=percent)
    else:
        batch = replace(batch, min_succeeded=random.randint(2, 5))
    rates = {"failing": random.choice((0.3, 0.8)), "both": 1.0, "tick_rate": 0.2}
    return replace(base, batches=(batch,), sweepers=8, longest=1, fold=1, room=8, **rates)


def _of_caps(random: Random, base: Scenario) -> Scenario:
    """Adds that fit one by one, and not together, made at about the same time."""
    counts = [random.randint(1, 3) for _ in range(random.choice((2, 3)))]
    adds = tuple(AddScript(f"top-add-{n}", count, callers=2) for n, count in enumerate(counts))
    batch = replace(base.batches[0], adds=adds, max_items=random.randint(max(counts), sum(counts) - 1))
    return replace(base, batches=(batch,), room=8, start_rate=1.0)


def _bounded(random: Random, script: BatchScript) -> BatchScript:
    """A script whose batch ends by its successes, by a sample of its failures, or is kept small by a cap."""
    total = max(1, sum(add.count for add in script.adds))
    adds = tuple(
        replace(add, children=tuple(_bounded(random, child) for child in add.children)) for add in script.adds
    )
    bounded = replace(script, adds=adds, expected=None)
    if random.random() < 0.8:
        by_count = random.random() < 0.6
        bounded = replace(
            bounded,
            min_succeeded=random.randint(1, total) if by_count else None,
            min_succeeded_percent=None if by_count else random.choice(lifecycles.PERCENTS),
        )
    if script.mode is Mode.EXACT and random.random() < 0.4:
        sample, percent = random.randint(1, total), random.choice(lifecycles.PERCENTS)
        bounded = replace(bounded, failure_sample=sample, max_failure_percent=percent)
    if random.random() >= 0.3:
        return bounded
    return replace(bounded, max_items=max(bounded.min_succeeded or 1, random.randint(1, total)))
