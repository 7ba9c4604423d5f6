"""An add that is repeated after its job ended, and after the next job of its key was added over its mark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.queue import Effects, MemoryDoorbell, NewJob, Options, Queue, QueueContext
from fanin.queue.administration.changing import delete_jobs
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.keys import JobKey, PartKey
from fanin.queue.rules.model import MARK_SECONDS, Dead, EarlierJob, JobState, digest_of
from tests.contract.queue.calls import LATER, NOW, PART, QUEUE, done_job, head, new
from tests.item_ids import item_named
from tests.queue.conftest import Time

FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH = (NewJob("a", id=number) for number in "123456")
NEXT = JobKey(PartKey(QUEUE, 1), "k#a")


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def queue(store, time):
    effects = Effects(time.now, time.monotonic, pause=lambda _: None)
    context = QueueContext(store, MemoryDoorbell(), QUEUE, Options(parts=1), effects)
    return Queue(context, lambda duties: lambda: None)


def run_next(queue):
    """Take the next job, and ack it."""
    with queue.take(1, wait=0) as jobs:
        return [job.id for job in jobs]


def stored(queue):
    return queue.context.store.get(JobKey(PART, "k#a"))


def add_next(queue, state):
    """Add the second job, and bring it into *state*."""
    queue.add(replace(SECOND, delay=5 if state is JobState.DELAYED else 0))
    if state is JobState.DONE:
        run_next(queue)


@pytest.mark.parametrize("on_busy", ["reject", "rerun"])
@pytest.mark.parametrize("state", [JobState.READY, JobState.DELAYED, JobState.DONE])
def test_it_is_the_same_job_whatever_became_of_the_next_one(queue, on_busy, state):
    queue.add(FIRST)
    run_next(queue)
    add_next(queue, state)
    before = stored(queue)

    assert before.state is state
    assert queue.add(FIRST, on_busy=on_busy)
    assert stored(queue) == before


@pytest.mark.parametrize("on_busy", ["reject", "rerun"])
def test_it_is_the_same_job_while_the_next_one_is_in_progress(queue, on_busy):
    queue.add(FIRST)
    run_next(queue)
    queue.add(SECOND)
    with queue.take(1, wait=0) as jobs:
        before = stored(queue)
        assert [job.id for job in jobs] == ["2"]
        assert queue.add(FIRST, on_busy=on_busy)
        assert stored(queue) == before

    assert run_next(queue) == []


@pytest.mark.parametrize("on_busy", ["reject", "rerun"])
def test_the_job_before_a_rerun_is_known_and_so_is_the_rerun_after_its_end(queue, on_busy):
    queue.add(FIRST)
    with queue.take(1, wait=0):
        assert queue.add(SECOND, on_busy="rerun")
    with queue.take(1, wait=0) as jobs:
        assert [job.id for job in jobs] == ["2"]
        assert queue.add(FIRST, on_busy=on_busy)
    queue.add(THIRD)
    with queue.take(1, wait=0):
        assert queue.add(SECOND, on_busy=on_busy)

    assert run_next(queue) == []


@pytest.mark.parametrize("on_busy", ["reject", "rerun"])
def test_a_rerun_that_was_replaced_is_known_before_and_after_the_run_of_the_newer_one(queue, on_busy):
    queue.add(FIRST)
    with queue.take(1, wait=0):
        assert queue.add(replace(SECOND, payload="old"), on_busy="rerun")
        assert queue.add(replace(THIRD, payload="new"), on_busy="rerun")
        assert queue.add(replace(SECOND, payload="old"), on_busy=on_busy)
    with queue.take(1, wait=0) as jobs:
        assert [(job.id, job.payload) for job in jobs] == [("3", '"new"')]
    assert queue.add(replace(SECOND, payload="old"), on_busy=on_busy)

    assert run_next(queue) == []


def test_a_rerun_of_another_item_is_rejected_while_one_waits(queue):
    queue.add(replace(FIRST, item_id=item_named("x")))
    with queue.take(1, wait=0):
        assert queue.add(replace(SECOND, item_id=item_named("y")), on_busy="rerun")
        assert not queue.add(replace(THIRD, item_id=item_named("z")), on_busy="rerun")
        assert queue.add(replace(FOURTH, payload="new"), on_busy="rerun")
        assert queue.add(replace(FIFTH, payload="newer", item_id=item_named("y")), on_busy="rerun")
    with queue.take(1, wait=0) as jobs:
        assert [(job.id, job.payload, job.item_id) for job in jobs] == [("5", '"newer"', item_named("y"))]


def test_a_deleted_job_is_known_after_the_next_one_is_added(queue):
    queue.add(FIRST)
    delete_jobs(queue.context, ["a"])
    queue.add(SECOND)

    assert queue.add(FIRST)
    assert run_next(queue) == ["2"]


def test_it_is_another_job_once_the_mark_would_be_older_than_an_hour(queue, time):
    queue.add(FIRST)
    run_next(queue)
    time.sleep(MARK_SECONDS - 1)
    queue.add(replace(SECOND, delay=5))

    assert queue.add(FIRST)
    time.sleep(1)
    assert not queue.add(FIRST)


def test_the_last_four_are_known_and_one_before_them_is_another_job(queue):
    for request in (FIRST, SECOND, THIRD, FOURTH, FIFTH):
        queue.add(request)
        run_next(queue)
    queue.add(SIXTH)

    with queue.take(1, wait=0):
        assert all(queue.add(request, on_busy="rerun") for request in (SECOND, THIRD, FOURTH, FIFTH))
    assert run_next(queue) == []
    assert queue.add(SECOND)
    assert run_next(queue) == []
    assert queue.add(FIRST)
    assert run_next(queue) == ["1"]


def test_a_job_that_is_moved_names_the_one_whose_mark_it_replaces(store, queue):
    mark = replace(done_job(store), key=NEXT, id="here before")
    store.add(replace(mark, state=JobState.READY, done_us=None), None)
    mark = store.end(store.claim(store.ready(NEXT.part, 1)[0], "s", "c", LATER), LATER)
    waits = new("a", LATER, over=stored(queue))
    store.add(waits, stored(queue))
    store.move(waits, lifecycle.moved(waits, NEXT, mark), mark, LATER)
    store.create(QUEUE, QueueConfig(2, before=1, phase=Phase.DRAINING))

    assert store.get(NEXT).before == (EarlierJob(digest_of("here before"), LATER),)
    assert stored(queue).before == waits.before == (EarlierJob(digest_of(f"id-a-{NOW}"), LATER),)


def test_a_revived_job_names_the_one_that_ran_since(store, queue):
    queue.add(FIRST)
    job = store.claim(head(store), "s", "c", LATER)
    dead = Dead(job, "boom", LATER)
    mark = store.end(job, LATER, dead=dead)
    second = lifecycle.new_job(SECOND, job.key, "2", LATER, mark)
    store.add(second, mark)
    run_next(queue)
    store.revive(dead, lifecycle.revived(dead, LATER, stored(queue)), stored(queue))

    assert stored(queue).id == "1"
    assert [each.digest for each in stored(queue).before] == [digest_of("2"), digest_of("1")]
    assert queue.add(SECOND)
    assert queue.add(FIRST)
