"""What two articles ask of a queue, by number: sessions, claims, acks and parts, 16 to 25."""

from __future__ import annotations

import os
import random
import socket

import pytest

from fanin.queue import LostClaim, NewJob, ShutDown
from fanin.queue.rules.keys import PartKey, job_key
from fanin.queue.rules.taking import TakeRequest
from tests.queue.conftest import KEY, OUTCOME, expects, names, session_of, unavailable


def test_16_a_session_has_a_row_with_a_heartbeat_and_says_where_it_runs(queue, time, duties):
    with queue.take(wait=0):
        (before,) = queue.sessions()
        duties.pass_seconds(1)
        (after,) = queue.sessions()

    assert (before.host, before.pid, before.started_us) == (
        socket.gethostname(),
        os.getpid(),
        time.now() - 10**6,
    )
    assert after.heartbeats == before.heartbeats + 1


def test_17_heartbeat_and_expiry_are_one_and_five_seconds_and_can_be_set(make, duties):
    usual, slow = make(), make(heartbeat=2.0, expiry=30.0)
    for queue in (usual, slow):
        with queue.take(wait=0):
            pass

    assert [member.expiry_us for member in usual.sessions()] == [5_000_000, 30_000_000]
    assert [[duty.seconds for duty in duties.of[number]] for number in (0, 1)] == [[1.0, 0.5], [2.0, 1.0]]


@pytest.mark.parametrize("timeout", [4, 5])
def test_17_19_claims_are_freed_after_the_expiry_and_within_two_seconds_of_it(make, duties, timeout):
    killed, other = make(), make()
    killed.add("a")
    killed.take(1, wait=0).__enter__()
    with other.take(wait=0):
        pass
    duties.pass_seconds(1)
    duties.pass_seconds(timeout, without=(0,))
    freed_early = names(other.queued())
    duties.pass_seconds(7 - timeout, without=(0,))

    assert freed_early == ([] if timeout == 4 else ["a"])
    assert [(job.name, job.failures) for job in other.queued()] == [("a", 0)]
    assert [member.id for member in other.sessions()] == [session_of(other).id]


def test_18_a_session_whose_heartbeat_was_refused_stops_and_acks_no_more(make, duties, time):
    frozen, other = make(), make()
    frozen.add("a")
    with expects(LostClaim), frozen.take(1, wait=0) as jobs:
        with other.take(wait=0):
            pass
        duties.pass_seconds(8, without=(0,))
        duties.of[0][0].do()

        assert jobs.lost
        jobs.ack(jobs[0], [OUTCOME])

    assert frozen.context.store.written == []
    assert names(other.queued()) == ["a"]


def test_18_a_session_without_confirmed_heartbeats_ends_itself_before_others_may(make, duties, monkeypatch):
    queue = make()
    queue.add("a")
    with expects(LostClaim), queue.take(1, wait=0) as jobs:
        monkeypatch.setattr(queue.context.store, "beat", unavailable)
        duties.pass_seconds(3)
        lost_early = jobs.lost
        duties.pass_seconds(1)

        assert (lost_early, jobs.lost) == (False, True)
    (row,) = queue.sessions()

    assert row.live


def test_18_a_worker_that_was_given_up_goes_on_under_a_new_session(make, duties):
    queue = make(renew=True)
    queue.add("a")
    queue.take(1, wait=0).__enter__()
    first = session_of(queue)
    first.lost = True
    with queue.take(1, wait=0) as jobs:
        assert names(jobs) == ["a"]
        assert session_of(queue).id != first.id


def test_20_a_graceful_close_returns_the_claims_and_ends_the_session_at_once(make):
    queue, other = make(), make()
    queue.add("a")
    with expects(LostClaim), queue.take(1, wait=0) as jobs:
        queue.close()

        assert other.sessions() == []
        assert [(job.name, job.failures) for job in other.queued()] == [("a", 0)]
        jobs.ack(jobs[0])
    with pytest.raises(ShutDown), queue.take(1, wait=0):
        pass
    assert list(queue.stream()) == []


def test_21_q6_one_consumer_claims_in_order_of_priority_and_time(queue, time):
    chance = random.Random(21)
    added = []
    for i in range(60):
        job = NewJob(f"j{i}", priority=chance.choice((0, 0, 5, 999)))
        queue.add(job)
        added.append((-job.priority, i))
        time.sleep(chance.random())
    taken = []
    while len(taken) < 60:
        with queue.take(chance.randint(1, 5), wait=0) as jobs:
            taken += names(jobs)

    assert taken == [f"j{i}" for _, i in sorted(added)]


def test_21_nothing_is_claimed_beyond_the_capacity(queue, store):
    queue.add_all([*"abcde"])
    with queue.take(2) as jobs:
        assert len(jobs) == len(queue.in_progress()) == 2
    assert store.requests.count("claim") == 2


def test_21_a_waiting_take_does_not_ask_the_tables(make, store, bell, monkeypatch):
    queue = make()
    with queue.take(wait=0):
        pass
    looks = []

    def wait(seconds, most):
        looks.append(store.requests.count("ready"))
        if len(looks) == 4:
            queue.add("a")
        return [ring for _, ring in bell.rings]

    monkeypatch.setattr(bell, "wait", wait)
    with queue.take() as jobs:
        assert names(jobs) == ["a"]

    assert looks[1:] == [looks[0] + 1, looks[0] + 2, looks[0] + 3]


def test_22_23_q3_an_ack_takes_the_outcome_and_the_job_in_one_step_or_neither(make):
    slow, quick = make(), make()
    slow.add("a")
    with expects(LostClaim), slow.take(1, wait=0) as jobs:
        slow.context.store.end_session(KEY, session_of(slow).id, None)
        quick.sweep()
        with quick.take(1, wait=0) as others:
            quick_claim = others[0].claim
            with pytest.raises(LostClaim):
                jobs.ack(jobs[0], [{"Put": {"of": "slow"}}])

            assert quick.in_progress()[0].claim == quick_claim
            others.ack(others[0], [{"Put": {"of": "quick"}}])
        raise LostClaim

    assert quick.context.store.written == [{"Put": {"of": "quick"}}]


def test_24_a_new_session_takes_over_parts_and_gives_them_back(make, duties):
    one, two = make(parts=8), make(parts=8)
    with one.take(wait=0):
        alone = list(one.taker.worker.maintenance.own_parts())
    with two.take(wait=0):
        pass
    duties.pass_seconds(1)
    shared = [list(queue.taker.worker.maintenance.own_parts()) for queue in (one, two)]
    two.close()
    duties.pass_seconds(1)

    assert alone == list(range(8))
    assert sorted(shared) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert list(one.taker.worker.maintenance.own_parts()) == list(range(8))


def test_24_a_ring_is_followed_into_a_part_of_another_session(make, duties, bell):
    one, two = make(parts=2), make(parts=2)
    for queue in (one, two):
        with queue.take(wait=0):
            pass
    duties.pass_seconds(1)
    foreign = next(p for p in (0, 1) if p not in one.taker.worker.maintenance.own_parts())
    name = next(str(i) for i in range(99) if job_key(KEY, 2, str(i)).part == PartKey(KEY, foreign))
    one.add(name)

    assert names(one.taker._look(one.taker._live_worker(), TakeRequest(), bell.wait(0, 1))) == [name]
