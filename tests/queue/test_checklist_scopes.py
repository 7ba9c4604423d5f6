"""What two articles ask of a queue, by number: takes and their scopes, 6 to 10, 12 and 15, and listings."""

from __future__ import annotations

import threading

import pytest

from fanin.queue import MemoryDoorbell, NewJob, Options, Queue, QueueContext
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.taking import TakeRequest
from tests.queue.conftest import KEY, Boom, expects, fail, names, session_of


def test_06_q5_take_blocks_until_there_is_one_and_gives_at_most_so_many():
    queue = Queue(QueueContext(MemoryStore(), MemoryDoorbell(), KEY, Options(parts=4)))
    got = []

    def consume():
        with queue.take(2) as jobs:
            got.append(names(jobs))

    thread = threading.Thread(target=consume)
    thread.start()
    queue.add("a")
    thread.join(60)
    queue.add_all([*"bcd"])
    consume()
    queue.close()

    assert got[0] == ["a"]
    assert len(got[1]) == 2


def test_07_success_removes_the_job(queue):
    queue.add("a")
    with queue.take():
        assert names(queue.in_progress()) == ["a"]

    assert queue.queued() == queue.in_progress() == []


def test_07_q7_a_failure_returns_the_job_to_its_original_position_and_counts(queue):
    queue.add_all([*"abc"])
    fail(queue)

    assert [(job.name, job.failures) for job in queue.queued()] == [("a", 1), ("b", 0), ("c", 0)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_07_an_interruption_returns_the_job_to_its_original_position_and_counts_nothing(queue, error):
    queue.add_all([*"abc"])
    fail(queue, error=error)

    assert [(job.name, job.failures) for job in queue.queued()] == [("a", 0), ("b", 0), ("c", 0)]


def test_08_all_jobs_of_a_scope_share_its_outcome(queue):
    queue.add_all([*"abc"])

    assert names(fail(queue, 3)) == ["a", "b", "c"]
    assert [job.failures for job in queue.queued()] == [1, 1, 1]
    with queue.take(3):
        pass

    assert queue.queued() == []


def test_08_a_job_acked_or_released_by_itself_has_its_own_outcome(queue):
    queue.add_all([*"abc"])
    with expects(Boom), queue.take(3) as jobs:
        jobs.ack(jobs[0])
        jobs.release(jobs[1])
        raise Boom

    assert [(job.name, job.failures) for job in queue.queued()] == [("b", 0), ("c", 1)]


@pytest.mark.parametrize("moment", ["claim", "delete"])
def test_09_no_interruption_comes_between_a_claim_and_the_scope_that_returns_it(make, bell, moment):
    queue = make()
    queue.add_all([*"ab"])
    target, after = (queue.context.store, 2) if moment == "claim" else (bell, 1)
    whole, calls = getattr(target, moment), []

    def interrupted(*args):
        answer = whole(*args)
        calls.append(moment)
        if len(calls) == after:
            raise KeyboardInterrupt
        return answer

    setattr(target, moment, interrupted)
    if moment == "delete":
        queue.take(2, wait=0).__enter__()._return_all(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        queue.taker._look(queue.taker._live_worker(), TakeRequest(2), bell.wait(0, 2))
    setattr(target, moment, whole)
    queue.taker.worker.maintenance.sweep([0])

    assert names(queue.queued()) == ["a", "b"]
    assert not session_of(queue).held


def test_10_waiters_are_served_in_the_order_in_which_they_came():
    queue = Queue(QueueContext(MemoryStore(), MemoryDoorbell(), KEY, Options(parts=1)))
    served, threads = [], []

    def consume(number):
        with queue.take(1) as jobs:
            served.append((number, jobs[0].name))

    for number in range(3):
        threads.append(threading.Thread(target=consume, args=(number,)))
        threads[-1].start()
        while len(queue.taker.lock.line) <= number:
            threading.Event().wait(0.001)
    for key in "abc":
        queue.add(key)
    for thread in threads:
        thread.join(60)
    queue.close()

    assert sorted(served) == [(0, "a"), (1, "b"), (2, "c")]


def test_10_a_return_rings_as_an_add_does(queue, bell):
    queue.add("a")
    bell.rings.clear()
    fail(queue)

    assert [ring.part for _, ring in bell.rings] == [0]


def test_10_a_waiter_that_finds_nothing_left_blocks_again():
    bell = MemoryDoorbell()
    queue = Queue(QueueContext(MemoryStore(), bell, KEY, Options(parts=1)))
    queue.add("gone")
    with queue.take():
        pass  # its ring is still in the bell
    got = []

    def consume():
        with queue.take() as jobs:
            got.append(names(jobs))

    thread = threading.Thread(target=consume)
    thread.start()
    while bell.rings:
        threading.Event().wait(0.001)
    before = list(got)
    queue.add("next")
    thread.join(60)
    queue.close()

    assert (before, got) == ([], [["next"]])


def test_12_without_a_limit_a_job_is_tried_for_ever_and_with_one_it_is_dead(make):
    patient, strict = make(), make(max_failures=2)
    patient.add("a")
    for _ in range(20):
        fail(patient)

    assert patient.queued()[0].failures == 20
    patient.add("b")
    with patient.take(2) as jobs:
        jobs.ack(jobs[0])
        jobs.release(jobs[1])
    fail(strict)
    fail(strict)
    (dead,) = strict.dead()

    assert (dead.job.name, dead.job.failures, dead.error) == ("b", 2, "Boom()")
    assert strict.queued() == []


def test_12_a_dead_job_frees_its_key_and_is_revived_when_the_key_is_free(make):
    queue = make(max_failures=1)
    queue.add("a")
    fail(queue)
    (dead,) = queue.dead()

    assert queue.add("a")
    assert not queue.revive(dead)
    with queue.take():
        pass

    assert queue.revive(dead)
    assert queue.dead() == []
    assert [(job.name, job.failures, job.id) for job in queue.queued()] == [("a", 0, dead.job.id)]


def test_12_a_dead_job_is_revived_once_and_one_call_returns_true(make):
    """By any process, while the job is back, and after it ended."""
    queue, other = make(max_failures=1), make(max_failures=1)
    queue.add("a")
    fail(queue)
    (dead,) = queue.dead()

    assert [queue.revive(dead), queue.revive(dead), other.revive(dead)] == [True, False, False]
    with queue.take():
        assert not queue.revive(dead)
    assert not queue.revive(dead)
    queue.add("a")

    assert not queue.revive(dead)


def test_15_a_stream_takes_scope_after_scope(queue):
    queue.add_all([*"abc"])
    seen = []
    for job in queue.stream(wait=0):
        seen.append((job.name, len(queue.queued()), len(queue.in_progress())))

    assert seen == [("a", 2, 1), ("b", 1, 1), ("c", 0, 1)]
    assert queue.depth().busy == 0


def test_15_a_stream_that_is_left_returns_the_present_job(queue):
    queue.add_all([*"ab"])
    for job in queue.stream(wait=0):
        if job.name == "b":
            break

    assert [(job.name, job.failures) for job in queue.queued()] == [("b", 0)]


def test_11_queued_and_in_progress_are_listed_in_the_order_of_the_queue(make, time):
    queue = make(parts=4)
    for i, priority in enumerate((0, 5, 0, 9, 5, 0)):
        queue.add(NewJob(f"j{i}", priority=priority))
        time.sleep(1)

    assert names(queue.queued()) == ["j3", "j1", "j4", "j0", "j2", "j5"]
    assert names(queue.queued(limit=2)) == ["j3", "j1"]
    with queue.take(6):
        assert names(queue.in_progress()) == ["j3", "j1", "j4", "j0", "j2", "j5"]


def test_11_delayed_jobs_are_listed_by_when_they_are_due(queue):
    queue.add_all([NewJob("a", delay=9), NewJob("b", delay=5)])

    assert names(queue.delayed()) == ["b", "a"]


def test_13_q10_each_job_has_its_metrics(queue, duties):
    queue.add("a")
    duties.pass_seconds(3)
    with expects(Boom), queue.take():
        queue.add("a")
        duties.pass_seconds(2)
        raise Boom
    duties.pass_seconds(1)
    with queue.take() as jobs:
        queue.add("a")
        duties.pass_seconds(5)
        done = jobs.ack(jobs[0])

    assert (done.queued_us, done.busy_us) == (4_000_000, 7_000_000)
    assert (done.collisions, done.failures, done.deliveries) == (2, 1, 2)


def test_13_the_queue_has_a_depth_and_an_age(make, time):
    queue = make(parts=4, max_failures=1, renew=True)
    queue.add("dead")
    fail(queue)
    queue.add_all(["a", "b", "c", NewJob("d", delay=60)])
    time.sleep(9)
    with queue.take():
        depth = queue.depth()

    assert (depth.ready, depth.busy, depth.delayed, depth.dead) == (2, 1, 1, 1)
    assert abs(depth.oldest_us - 9_000_000) < 10
