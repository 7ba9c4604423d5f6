"""How many jobs a list shows, over all parts and in one order, and what a look at the parts reads."""

from __future__ import annotations

import pytest

from fanin.queue import NewJob, Queue
from fanin.queue.administration.looking import look
from tests.queue.claiming import Bench
from tests.queue.conftest import fail, names

LISTS = ["queued", "in_progress", "delayed", "dead"]


def filled(make, state, jobs, parts=1):
    """A queue with so many *jobs* in a state."""
    queue = make(parts=parts, max_failures=1)
    queue.add_all(NewJob(f"{number:03d}", delay=60 * (state == "delayed")) for number in range(jobs))
    if state == "in_progress":
        queue.take(jobs, wait=0).__enter__()
    if state == "dead":
        fail(queue, jobs)
    return queue


@pytest.mark.parametrize("state", LISTS)
def test_a_limit_is_that_of_all_parts(make, state):
    listed = getattr(filled(make, state, 9, parts=2), state)

    assert len(listed(9)) == 9
    assert listed(2) == listed(9)[:2]


@pytest.mark.parametrize(("jobs", "is_whole"), [(15, True), (16, False)])
def test_a_part_of_15_jobs_is_read_in_one_request(queue, store, jobs, is_whole):
    """A read unit has 16 rows of the index: a part that fills it may have more."""
    queue.add_all(str(number) for number in range(jobs))
    store.requests.clear()

    assert queue.depth().ready == jobs
    assert ("count" not in store.requests) == ("outstanding" not in store.requests) == is_whole


def test_a_part_with_a_row_that_cannot_be_read_is_counted_all_the_same(queue, store, monkeypatch):
    def broken(*_):
        raise ValueError("no such state")

    queue.add("a")
    monkeypatch.setattr(store, "first", broken)

    assert queue.depth().ready == 1


def test_what_the_sweep_has_to_see_to_are_busy_jobs_and_those_that_are_due():
    bench = Bench()
    bench.add("due", delay=5)
    bench.add("late", delay=6)
    bench.take("busy")
    bench.add("ready")
    bench.time.sleep(5)
    (seen,) = look(bench.context, bench.context.parts())

    assert sorted(entry.key.sort for entry in seen.outstanding) == ["k#busy", "k#due"]
    assert names(Queue(bench.context).delayed()) == ["due", "late"]
