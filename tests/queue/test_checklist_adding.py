"""What two articles ask of a queue, by number: adding, 1 to 5 and 14."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue import MemoryDoorbell, NewJob, Options, Queue, QueueContext
from fanin.queue.memory import MemoryStore
from tests.queue.conftest import KEY, names


@pytest.mark.parametrize("state", ["queued", "in progress", "delayed"])
def test_01_jobs_are_distinct_by_key_whatever_their_state_and_payload(queue, state):
    queue.add(NewJob("a", "first", delay=60 if state == "delayed" else 0))
    with queue.take(1, wait=0) if state == "in progress" else nullcontext():
        assert not queue.add("a", "second")
        assert queue.add("b", "first")


def test_02_the_first_add_keeps_its_position(queue, time):
    for key in "abca":
        queue.add(key)
        time.sleep(1)

    assert names(queue.queued()) == ["a", "b", "c"]


def test_05_add_all_gives_the_rejected_a_duplicate_inside_the_input_too_and_rings_once_a_job(
    queue, bell, time
):
    queue.add("c")
    time.sleep(1)
    bell.rings.clear()
    same = NewJob("a", "1")
    rejected = queue.add_all([same, "b", same, "c", NewJob("b", "2")])

    assert [refusal.key for refusal in rejected] == ["a", "c", "b"]
    assert names(queue.queued()) == ["c", "a", "b"]
    assert len(bell.rings) == 2
    bell.rings.clear()
    queue.add_all(["a", "b", "c"])

    assert not bell.rings


def test_14_writes_exclude_each_other_and_reads_do_not_wait():
    store = MemoryStore()
    queues = [Queue(QueueContext(store, MemoryDoorbell(), KEY, Options(parts=2))) for _ in range(4)]
    added = []

    def produce(queue):
        for i in range(50):
            added.append(queue.add(f"j{i}"))
            queue.queued()

    threads = [threading.Thread(target=produce, args=(queue,)) for queue in queues]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert added.count(True) == 50
    assert sum(job.collisions for job in queues[0].queued()) == 150


def run_others(queue, number):
    """Add so many jobs of the key *a*, and let each run to its end."""
    for i in range(number):
        queue.add(NewJob("a", id=f"other {i}"))
        with queue.take(wait=0):
            pass


def unknown_after(others):
    """Expect the error of an add after which more than four others of its key were added."""
    return pytest.raises(StoreUnavailable, match="unknown whether it ran") if others > 4 else nullcontext()


@pytest.mark.parametrize("others", [1, 4, 5])
def test_05_a_run_that_was_requested_long_ago_is_not_requested_of_a_later_job(
    queue, store, monkeypatch, others
):
    """The requested run came and went, and others of its key: a row names its own job and four before it."""
    later, rerun = [], store.rerun

    def answered_late(seen, request):
        rerun(seen, request)
        if not later:
            scope.__exit__(None, None, None)  # the first job ends: the requested run is ready
            with queue.take(wait=0) as jobs:
                assert [job.id for job in jobs] == ["mine"]
            run_others(queue, others - 1)
            queue.add(NewJob("a", id="last"))
            later.append(queue.take(wait=0))
            later[0].__enter__()
        return rerun(seen, request)

    monkeypatch.setattr(store, "rerun", answered_late)
    queue.add(NewJob("a", id="first"))
    scope = queue.take()
    scope.__enter__()

    with unknown_after(others):
        assert queue.add(NewJob("a", id="mine"), on_busy="rerun")
    later[0].__exit__(None, None, None)

    assert names(queue.queued()) == []


@pytest.mark.parametrize("others", [1, 4, 5])
def test_05_an_add_over_a_done_job_is_not_repeated_over_a_later_one(queue, store, monkeypatch, others):
    """The added job came and went, and so did others of its key: after five, its row names it no more."""
    add, calls = store.add, []

    def answered_late(job, over, check):
        stored = add(job, over, check)
        calls.append(job.id)
        if job.id != "mine" or over is None or calls.count("mine") > 2:
            return stored
        with queue.take(wait=0):
            pass
        run_others(queue, others)
        return add(job, over, check)

    queue.add(NewJob("a", id="before"))
    with queue.take():
        pass
    monkeypatch.setattr(store, "add", answered_late)

    with unknown_after(others):
        assert queue.add(NewJob("a", id="mine"))
    assert names(queue.queued()) == []
