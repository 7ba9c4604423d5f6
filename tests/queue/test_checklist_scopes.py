"""What two articles ask of a queue, by number: takes and their scopes, 6 to 10, 12 and 15, and listings."""

from __future__ import annotations

import pytest

from fanin.queue import NewJob
from fanin.queue.rules.taking import TakeRequest
from tests.queue.conftest import Boom, expects, fail, names, session_of


@pytest.mark.parametrize(
    ("error", "failures"), [(Boom, 1), (KeyboardInterrupt, 0), (SystemExit, 0), (GeneratorExit, 0)]
)
def test_07_q7_a_job_returns_to_its_original_position_and_counts_failures_alone(queue, error, failures):
    queue.add_all([*"abc"])
    fail(queue, error=error)

    assert [(job.name, job.failures) for job in queue.queued()] == [("a", failures), ("b", 0), ("c", 0)]


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
