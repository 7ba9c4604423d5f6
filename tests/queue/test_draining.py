"""How long each phase of a raise lasts, and what one sweep of it reads, moves, rings for and stores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.keys import job_key
from fanin.queue.upkeep import widening
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY

MINUTE, MICROSECOND = 60, 1e-6


def key_of(*rows):
    """Return a job's key by its part in queues of so many parts: pairs of these two numbers."""
    keys = map(str, range(9999))
    return next(each for each in keys if all(job_key(KEY, of, each).part.number == n for n, of in rows))


def raised(bench, phase, parts, **facts):
    """Store a raise to *parts* whose phase begins now."""
    seen = bench.store.real.config(KEY)
    facts = {"revision": seen.revision + 1, "before": seen.parts, "since_us": bench.time.now()} | facts
    bench.store.real.reconfigure(KEY, replace(seen, parts=parts, phase=phase, **facts))


def swept(bench):
    """Let the phase settle, sweep, and return the stored config."""
    bench.time.sleep(30 * MINUTE)
    bench.forget()
    widening.advance(bench.context)
    return bench.store.real.config(KEY)


def rows_of_part(rows):
    """Return pages of a part that holds so many marks and no live job."""

    def page(_, after, limit):
        end = int(after or 0) + limit
        return [], f"{end:05}" if end < rows else None

    return page


def pages(bench):
    """Return the part and the row before the first one of each page that the last sweep read."""
    return [(part.number, after) for part, after, _ in bench.store.of("page")]


def live_parts(bench):
    return {job.name: job.key.part.number for job in bench.store.real.stored.values() if job.is_live}


@pytest.mark.parametrize(
    ("phase", "minutes", "after"),
    [
        (Phase.PREPARING, 30, Phase.DRAINING),
        (Phase.DRAINING, 30, Phase.EXPIRING),
        (Phase.EXPIRING, 61, Phase.STEADY),
    ],
)
def test_a_phase_ends_after_its_minutes_and_the_process_that_ends_it_knows(phase, minutes, after):
    bench = Bench()
    raised(bench, phase, 2)
    bench.time.sleep(minutes * MINUTE - MICROSECOND)
    widening.advance(bench.context)
    assert bench.store.real.config(KEY).phase is phase

    bench.time.sleep(MICROSECOND)
    widening.advance(bench.context)

    assert bench.store.real.config(KEY).phase is bench.context.config().phase is after


def test_an_ended_raise_leaves_the_config_of_a_queue_that_had_its_parts_from_the_beginning():
    bench = Bench()
    raised(bench, Phase.EXPIRING, 2)
    bench.time.sleep(31 * MINUTE)

    assert swept(bench) == QueueConfig(2, revision=2)


@pytest.mark.parametrize(("rows", "sweeps"), [(10_000, 1), (10_001, 2), (20_000, 2), (20_001, 3)])
def test_a_sweep_reads_10000_rows_of_the_old_parts_and_the_next_one_goes_on_after_them(rows, sweeps):
    bench = Bench()
    raised(bench, Phase.DRAINING, 2)
    bench.store.scripts["page"] = rows_of_part(rows)
    phases = [swept(bench).phase for _ in range(sweeps)]

    assert phases == [Phase.DRAINING] * (sweeps - 1) + [Phase.EXPIRING]


def test_each_old_part_is_read_once():
    bench, read = Bench(parts=17), []
    raised(bench, Phase.DRAINING, 18)
    while swept(bench).phase is Phase.DRAINING:
        read += pages(bench)

    assert read + pages(bench) == [(part, "") for part in range(17)]


def test_a_waiting_job_is_moved_at_once_and_rings_for_its_new_part():
    bench, job = Bench(), key_of((1, 2))
    bench.add(job)
    raised(bench, Phase.DRAINING, 2)

    assert swept(bench).phase is Phase.EXPIRING
    assert live_parts(bench) == {job: 1}
    assert bench.bell.rung == [(1, False, 0.0)]


def test_rows_before_the_first_busy_job_are_not_read_again():
    bench = Bench()
    stays, moves = key_of((0, 2)), key_of((1, 2))
    bench.add(stays, moves)
    taken = bench.claims.take([0], 2)
    raised(bench, Phase.DRAINING, 2)
    swept(bench)
    bench.claims.give_back_all(taken)
    swept(bench)

    assert pages(bench) == [(0, f"k#{stays}")]


def test_busy_jobs_of_several_parts_are_moved_once_they_wait():
    bench = Bench(parts=2)
    jobs = [key_of((0, 2), (2, 4)), key_of((1, 2), (3, 4))]
    bench.add(*jobs)
    taken = bench.claims.take([0, 1], 2)
    raised(bench, Phase.DRAINING, 4)
    assert swept(bench).phase is Phase.DRAINING
    bench.claims.give_back_all(taken)

    assert swept(bench).phase is Phase.EXPIRING
    assert live_parts(bench) == dict(zip(jobs, (2, 3), strict=True))
