"""What two articles ask of a queue, by number: claims, acks and parts, 21 to 25."""

from __future__ import annotations

import random

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue import JobState, LostClaim, NewJob
from fanin.queue.rules.keys import PartKey, job_key
from fanin.queue.rules.taking import TakeRequest
from tests.queue.conftest import KEY, OUTCOME, expects, names, session_of


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


def test_22_q3_an_ack_takes_the_outcome_and_the_job_in_one_step_or_neither(make):
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


def test_22_an_ack_that_timed_out_is_checked_and_not_applied_twice(queue, monkeypatch):
    queue.add("a")
    whole = queue.context.store.end

    def lost_once(*args):
        whole(*args)
        monkeypatch.setattr(queue.context.store, "end", whole)
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(queue.context.store, "end", lost_once)
    with queue.take() as jobs:
        jobs.ack(jobs[0], [OUTCOME])

    assert queue.context.store.written == [OUTCOME]


def test_23_an_execution_may_be_repeated_and_its_acknowledgement_is_not(make):
    slow, quick = make(), make()
    slow.add("a")
    executions = []
    with expects(LostClaim), slow.take(1, wait=0) as jobs:
        executions.append(jobs[0].name)
        slow.context.store.end_session(KEY, session_of(slow).id, None)
        quick.sweep()
        with quick.take(1, wait=0) as others:
            executions.append(others[0].name)
            quick_done = others.ack(others[0], [OUTCOME])

    assert executions == ["a", "a"]
    assert quick_done.state is JobState.DONE
    assert len(quick.context.store.written) == 1


def test_24_a_new_session_takes_over_parts_and_gives_them_back(make, duties):
    one, two = make(parts=8), make(parts=8)
    with one.take(wait=0):
        alone = list(one._worker.maintenance.own_parts())
    with two.take(wait=0):
        pass
    duties.pass_seconds(1)
    shared = [list(queue._worker.maintenance.own_parts()) for queue in (one, two)]
    two.close()
    duties.pass_seconds(1)

    assert alone == list(range(8))
    assert sorted(shared) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert list(one._worker.maintenance.own_parts()) == list(range(8))


def test_24_dropping_a_part_leaves_the_work_on_it_alone(make, duties):
    one, two = make(parts=2), make(parts=2)
    one.add_all([*"abcdefgh"])
    with one.take(8, wait=0) as jobs:
        with two.take(wait=0):
            pass
        duties.pass_seconds(8)

        assert [job.claim for job in one.in_progress()] == [job.claim for job in jobs]


def test_24_without_contention_each_claims_in_its_own_parts(make, duties):
    one, two = make(parts=8), make(parts=8)
    for queue in (one, two):
        with queue.take(wait=0):
            pass
    duties.pass_seconds(1)
    one.add_all(str(i) for i in range(40))
    for queue in (one, two):
        with queue.take(40, wait=0) as jobs:
            parts = {job.key.part.number for job in jobs}

            assert parts <= set(queue._worker.maintenance.own_parts())


def test_24_a_ring_is_followed_into_a_part_of_another_session(make, duties, bell):
    one, two = make(parts=2), make(parts=2)
    for queue in (one, two):
        with queue.take(wait=0):
            pass
    duties.pass_seconds(1)
    foreign = next(p for p in (0, 1) if p not in one._worker.maintenance.own_parts())
    name = next(str(i) for i in range(99) if job_key(KEY, 2, str(i)).part == PartKey(KEY, foreign))
    one.add(name)

    assert names(one._look(one._live_worker(), TakeRequest(), bell.wait(0, 1))) == [name]


def test_25_more_parts_are_the_way_to_more_throughput_and_order_holds_within_each(make, time):
    queue = make(parts=4)
    queue.add_all(str(i) for i in range(40))
    by_part: dict[int, list[int]] = {}
    with queue.take(40, wait=0) as jobs:
        for job in jobs:
            by_part.setdefault(job.key.part.number, []).append(int(job.name))

    assert len(by_part) == 4
    assert all(part == sorted(part) for part in by_part.values())
