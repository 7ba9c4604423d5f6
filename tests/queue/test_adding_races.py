"""Adds whose key changes between their requests: what is requested, repeated and refused, and the rings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue import NewJob, OnBusy, Rejected
from fanin.queue.config_cache import CONFIG_SECONDS
from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.lifecycle import ended
from fanin.queue.rules.model import JobState
from fanin.queue.working.producer import Producer
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY

OLD, NEW = 2, 4
MOVES = next(
    name
    for name in map(str, range(99))
    if (job_key(KEY, OLD, name).part.number, job_key(KEY, NEW, name).part.number) == (0, 2)
)
"""A job that a raise moves from the part that a bench takes from."""
WRITES = {"add", "rerun", "get"}


@pytest.fixture
def bench():
    return Bench()


def add(bench, name, on_busy=OnBusy.RERUN, **facts):
    return Producer(bench.context).add_all([NewJob(name, **facts)], on_busy)


def writes(bench):
    """Return the requests to the rows of jobs, by name."""
    return [name for name in bench.store.names() if name in WRITES]


def done_before(bench, name):
    """Add and end a job; return its mark."""
    (job,) = bench.take(name)
    bench.claims.end(job)
    bench.forget()
    return bench.stored(job)


def raising(bench, phase):
    """Store a raise of the parts in *phase*, and let all processes read it."""
    bench.store.real.configs[KEY] = QueueConfig(NEW, revision=9, before=OLD, phase=phase)
    bench.time.sleep(CONFIG_SECONDS)


def test_an_add_that_others_always_win_is_tried_eight_times(bench):
    mark = done_before(bench, "a")
    bench.store.scripts["add"] = lambda *_: mark
    with pytest.raises(StoreUnavailable, match=r"^job 'a': too many adds of its key at once; add it again$"):
        add(bench, "a")

    assert (writes(bench), bench.pauses) == (["add"] * 8, [*range(8)])


def test_a_job_that_ends_before_its_rerun_is_requested_is_added_anew(bench):
    (job,) = bench.take("a")

    def ends(busy, _):
        bench.store.real.stored[job.key] = ended(busy, bench.time.now())
        return bench.store.real.stored[job.key]

    bench.store.scripts["rerun"] = ends

    assert add(bench, "a", id="mine") == ()
    assert (bench.stored(job).id, bench.stored(job).generation) == ("mine", 2)
    assert writes(bench) == ["add", "rerun", "add", "add"]


def test_a_job_whose_row_is_gone_before_its_rerun_is_requested_is_added_anew(bench):
    (job,) = bench.take("a")
    bench.store.scripts["rerun"] = lambda *_: bench.store.real.stored.pop(job.key) and None

    assert add(bench, "a", id="mine") == ()
    assert (bench.stored(job).id, bench.stored(job).generation) == ("mine", 1)
    assert writes(bench) == ["add", "rerun", "add"]


def test_an_add_is_rejected_by_a_later_generation_at_the_other_row_of_its_key():
    """The rows count their generations apart."""
    bench = Bench(parts=OLD)
    mark = done_before(bench, MOVES)
    raising(bench, Phase.PREPARING)
    other = job_key(KEY, NEW, MOVES)
    live = replace(mark, key=other, id="other", state=JobState.READY, generation=5)
    found = iter([None, live])
    bench.store.scripts["get"] = lambda _: next(found)

    assert add(bench, MOVES, OnBusy.REJECT) == (Rejected(MOVES, JobState.READY),)
    assert writes(bench) == ["get", "add", "get"]


def overs(bench):
    """Return the row and the replaced job of each add."""
    return [(job.key, over and over.key) for job, over, _ in bench.store.of("add")]


def test_an_add_whose_row_changes_meanwhile_does_not_replace_the_job_of_the_other_row():
    bench = Bench(parts=OLD)
    mark = done_before(bench, MOVES)
    raising(bench, Phase.PREPARING)
    new = job_key(KEY, NEW, MOVES)

    def settles(*asked):
        bench.store.scripts.pop("add")
        raising(bench, Phase.DRAINING)
        return bench.store.real.add(*asked)

    bench.store.scripts["add"] = settles

    assert add(bench, MOVES) == ()
    assert overs(bench) == [(mark.key, None), (new, None)]
    assert bench.store.real.stored[new].generation == 1


@pytest.mark.parametrize(
    ("delay", "ring"), [(0, (0, False, 0)), (0.5, (0, True, 1)), (1, (0, True, 1)), (1.5, (0, True, 2))]
)
def test_a_job_is_rung_for_when_it_is_due_in_whole_seconds(bench, delay, ring):
    add(bench, "a", delay=delay)

    assert bench.bell.rung == [ring]
