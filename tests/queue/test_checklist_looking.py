"""What two articles ask of a queue, by number: listings and metrics, 11 and 13."""

from __future__ import annotations

from fanin.queue import NewJob
from tests.queue.conftest import Boom, expects, fail, names


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
