"""What two articles ask of a queue, by number: 1 to 15 the distinct one, 16 to 25 the exactly-once one."""

from __future__ import annotations

import os
import random
import socket
import threading
from dataclasses import replace

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue import JobState, LostClaim, MemoryDoorbell, NewJob, Options, Queue, QueueKey, ShutDown
from fanin.queue.keys import PartKey, job_key
from fanin.queue.memory import MemoryStore
from tests.queue.conftest import KEY, expects, names

OUTCOME = {"Put": {"TableName": "Outcomes", "Item": {"id": {"S": "1"}}}}


class Boom(Exception):
    pass


def fail(queue, most=1, error=Boom):
    """Take jobs and fail on them; what was taken."""
    taken = []
    with expects(error), queue.take(most) as jobs:
        taken += jobs
        raise error
    return taken


def members(queue):
    return queue.store.members(KEY)


def session_of(queue):
    return queue._worker.session


# The distinct queue


@pytest.mark.parametrize("state", ["queued", "in progress", "delayed"])
def test_01_jobs_are_distinct_by_key_whatever_their_state_and_payload(queue, state):
    queue.add(NewJob("a", "first", delay=60 if state == "delayed" else 0))
    with queue.take(1, wait=0) if state == "in progress" else queue.take(1, wait=0, parts=[]):
        assert not queue.add("a", "second")
        assert queue.add("b", "first")


def test_02_the_first_add_keeps_its_position(queue, time):
    for key in "abca":
        queue.add(key)
        time.sleep(1)

    assert names(queue.queued()) == ["a", "b", "c"]


def test_03_a_job_in_progress_counts_for_uniqueness_until_it_is_acked(queue):
    queue.add("a")
    with queue.take() as jobs:
        assert not queue.add("a")
        jobs.ack(jobs[0])

        assert queue.add("a")


def test_04_add_says_whether_the_job_was_added(queue):
    assert queue.add("a") is True
    assert queue.add("a") is False


def test_05_add_all_gives_the_rejected_a_duplicate_inside_the_input_too_and_rings_once_a_job(queue, bell):
    queue.add("c")
    bell.rings.clear()
    same = NewJob("a", "1")
    rejected = queue.add_all([same, "b", same, "c", NewJob("b", "2")])

    assert [refusal.key for refusal in rejected] == ["a", "c", "b"]
    assert names(queue.queued()) == ["c", "a", "b"]
    assert len(bell.rings) == 2
    bell.rings.clear()
    queue.add_all(["a", "b", "c"])

    assert not bell.rings


def test_06_q5_take_blocks_until_there_is_one_and_gives_at_most_so_many():
    queue = Queue(MemoryStore(), MemoryDoorbell(), KEY, Options(parts=4))
    got = []

    def consume():
        with queue.take(2) as jobs:
            got.append(names(jobs))

    thread = threading.Thread(target=consume)
    thread.start()
    queue.add("a")
    thread.join(60)
    queue.add_all("bcd")
    consume()
    queue.close()

    assert got[0] == ["a"]
    assert len(got[1]) == 2


def test_06_a_take_that_may_not_wait_longer_is_empty(queue):
    with queue.take(3, wait=0) as jobs:
        assert not jobs


def test_07_success_removes_the_job(queue):
    queue.add("a")
    with queue.take():
        assert names(queue.in_progress()) == ["a"]

    assert queue.queued() == queue.in_progress() == []


def test_07_q7_a_failure_returns_the_job_to_its_original_place_and_counts(queue):
    queue.add_all("abc")
    fail(queue)

    assert [(job.name, job.failures) for job in queue.queued()] == [("a", 1), ("b", 0), ("c", 0)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_07_an_interruption_returns_the_job_to_its_original_place_and_counts_nothing(queue, error):
    queue.add_all("abc")
    fail(queue, error=error)

    assert [(job.name, job.failures) for job in queue.queued()] == [("a", 0), ("b", 0), ("c", 0)]


def test_08_all_jobs_of_a_scope_share_its_outcome(queue):
    queue.add_all("abc")

    assert names(fail(queue, 3)) == ["a", "b", "c"]
    assert [job.failures for job in queue.queued()] == [1, 1, 1]
    with queue.take(3):
        pass

    assert queue.queued() == []


def test_08_a_job_acked_or_released_by_itself_has_its_own_outcome(queue):
    queue.add_all("abc")
    with expects(Boom), queue.take(3) as jobs:
        jobs.ack(jobs[0])
        jobs.release(jobs[1])
        raise Boom

    assert [(job.name, job.failures) for job in queue.queued()] == [("b", 0), ("c", 1)]


@pytest.mark.parametrize("moment", ["claim", "heard"])
def test_09_no_interruption_comes_between_a_claim_and_the_scope_that_returns_it(make, bell, moment):
    queue = make()
    queue.add_all("ab")
    target, after = (queue.store, 2) if moment == "claim" else (bell, 1)
    whole, calls = getattr(target, moment), []

    def interrupted(*args):
        answer = whole(*args)
        calls.append(moment)
        if len(calls) == after:
            raise KeyboardInterrupt
        return answer

    setattr(target, moment, interrupted)
    if moment == "heard":
        queue.take(2, wait=0).__enter__()._return_all(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        queue._look(queue._present(), 2, None, bell.wait(0, 2))
    setattr(target, moment, whole)
    queue._worker.janitor.sweep([0])

    assert names(queue.queued()) == ["a", "b"]
    assert not session_of(queue).held


def test_10_waiters_are_served_in_the_order_in_which_they_came():
    queue = Queue(MemoryStore(), MemoryDoorbell(), KEY, Options(parts=1))
    served, threads = [], []

    def consume(number):
        with queue.take(1) as jobs:
            served.append((number, jobs[0].name))

    for number in range(3):
        threads.append(threading.Thread(target=consume, args=(number,)))
        threads[-1].start()
        while len(queue._turnstile.line) <= number:
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


def test_10_a_ring_for_a_part_that_is_empty_by_now_blocks_again(queue, bell, time, store):
    queue.add("a")
    with queue.take():
        pass
    looked = store.requests.count("claim")
    with queue.take(1, wait=0) as jobs:
        assert not jobs
    rung = bell.wait(0, 10)

    assert rung
    assert queue._look(queue._present(), 1, None, rung) == []
    assert store.requests.count("claim") == looked


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
    queue = make(parts=4, max_failures=1)
    queue.add("dead")
    fail(queue)
    queue.add_all(["a", "b", "c", NewJob("d", delay=60)])
    time.sleep(9)
    with queue.take():
        depth = queue.depth()

    assert (depth.ready, depth.busy, depth.delayed, depth.dead) == (2, 1, 1, 1)
    assert abs(depth.oldest_us - 9_000_000) < 10


def test_14_writes_exclude_each_other_and_reads_do_not_wait():
    store = MemoryStore()
    queues = [Queue(store, MemoryDoorbell(), KEY, Options(parts=2)) for _ in range(4)]
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


def test_15_a_stream_takes_scope_after_scope(queue):
    queue.add_all("abc")
    seen = []
    for job in queue.stream(wait=0):
        seen.append((job.name, len(queue.queued()), len(queue.in_progress())))

    assert seen == [("a", 2, 1), ("b", 1, 1), ("c", 0, 1)]
    assert queue.depth().busy == 0


def test_15_a_stream_that_is_left_returns_the_present_job(queue):
    queue.add_all("ab")
    for job in queue.stream(wait=0):
        if job.name == "b":
            break

    assert [(job.name, job.failures) for job in queue.queued()] == [("b", 0)]


# The exactly-once queue


def test_16_a_session_has_a_row_with_a_heartbeat_and_says_where_it_runs(queue, time, duties):
    with queue.take(wait=0):
        (before,) = members(queue)
        duties.pass_seconds(1)
        (after,) = members(queue)

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

    assert [member.expiry_us for member in members(usual)] == [5_000_000, 30_000_000]
    assert [[duty.seconds for duty in duties.of[number]] for number in (0, 1)] == [[1.0, 0.5], [2.0, 1.0]]


@pytest.mark.parametrize("silence", [4, 5])
def test_17_claims_are_freed_after_the_expiry_and_within_two_seconds_of_it(make, duties, silence):
    killed, other = make(), make()
    killed.add("a")
    killed.take(1, wait=0).__enter__()
    with other.take(wait=0):
        pass
    duties.pass_seconds(1)
    duties.pass_seconds(silence, without=(0,))
    freed_early = names(other.queued())
    duties.pass_seconds(7 - silence, without=(0,))

    assert freed_early == ([] if silence == 4 else ["a"])
    assert names(other.queued()) == ["a"]


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

    assert frozen.store.written == []
    assert names(other.queued()) == ["a"]


def test_18_a_session_that_cannot_speak_gives_itself_up_before_others_may(make, duties, monkeypatch):
    queue = make()
    queue.add("a")
    with expects(LostClaim), queue.take(1, wait=0) as jobs:
        monkeypatch.setattr(queue.store, "beat", unavailable)
        duties.pass_seconds(3)
        lost_early = jobs.lost
        duties.pass_seconds(1)

        assert (lost_early, jobs.lost) == (False, True)
    (row,) = members(queue)

    assert row.live


def unavailable(*_):
    raise StoreUnavailable("out of reach")


def test_18_a_worker_that_was_given_up_goes_on_under_a_new_session(make, duties):
    queue = make()
    queue.add("a")
    queue.take(1, wait=0).__enter__()
    first = session_of(queue)
    first.lost = True
    with queue.take(1, wait=0) as jobs:
        assert names(jobs) == ["a"]
        assert session_of(queue).id != first.id


def test_19_anyone_ends_an_expired_session_and_its_claims_are_freed(make, duties):
    killed, other = make(), make()
    killed.add_all("ab")
    killed.take(2, wait=0).__enter__()
    with other.take(wait=0):
        pass
    duties.pass_seconds(8, without=(0,))

    assert [(job.name, job.failures) for job in other.queued()] == [("a", 0), ("b", 0)]
    assert [member.id for member in members(other)] == [session_of(other).id]


def test_19_a_sweep_without_a_session_does_the_same_by_the_clock(make, time, duties):
    killed, function = make(), make()
    killed.add("a")
    killed.take(1, wait=0).__enter__()
    time.sleep(7)
    function.sweep()
    kept = names(function.queued())
    time.sleep(0.1)
    function.sweep()

    assert kept == []
    assert names(function.queued()) == ["a"]
    assert members(function) == []


def test_19_q4_a_claim_of_a_session_that_is_gone_already_is_freed_by_the_sweep(make):
    killed, other = make(), make()
    killed.add("a")
    killed.take(1, wait=0).__enter__()
    other.store.end_session(KEY, session_of(killed).id, None)
    other.store.forget(KEY, session_of(killed).id)
    other.sweep()

    assert names(other.queued()) == ["a"]


def test_20_a_graceful_close_returns_the_claims_and_ends_the_session_at_once(make):
    queue, other = make(), make()
    queue.add("a")
    with expects(LostClaim), queue.take(1, wait=0) as jobs:
        queue.close()

        assert members(other) == []
        assert [(job.name, job.failures) for job in other.queued()] == [("a", 0)]
        jobs.ack(jobs[0])
    with pytest.raises(ShutDown), queue.take(1, wait=0):
        pass
    assert list(queue.stream()) == []


def test_21_q6_one_consumer_claims_in_order_of_priority_and_time(queue, time):
    chance = random.Random(21)
    added = []
    for i in range(60):
        wish = NewJob(f"j{i}", priority=chance.choice((0, 0, 5, 999)))
        queue.add(wish)
        added.append((-wish.priority, i))
        time.sleep(chance.random())
    taken = []
    while len(taken) < 60:
        with queue.take(chance.randint(1, 5), wait=0) as jobs:
            taken += names(jobs)

    assert taken == [f"j{i}" for _, i in sorted(added)]


def test_21_nothing_is_claimed_beyond_the_capacity(queue, store):
    queue.add_all("abcde")
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
        slow.store.end_session(KEY, session_of(slow).id, None)
        quick.sweep()
        with quick.take(1, wait=0) as others:
            quick_claim = others[0].claim
            with pytest.raises(LostClaim):
                jobs.ack(jobs[0], [OUTCOME | {"of": "slow"}])

            assert quick.in_progress()[0].claim == quick_claim
            others.ack(others[0], [OUTCOME | {"of": "quick"}])
        raise LostClaim

    assert [write["of"] for write in quick.store.written] == ["quick"]


def test_22_an_ack_whose_answer_was_lost_is_asked_after_and_not_done_twice(queue, monkeypatch):
    queue.add("a")
    whole = queue.store.end

    def lost_once(*args):
        whole(*args)
        monkeypatch.setattr(queue.store, "end", whole)
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(queue.store, "end", lost_once)
    with queue.take() as jobs:
        jobs.ack(jobs[0], [OUTCOME])

    assert queue.store.written == [OUTCOME]


def test_23_an_execution_may_be_repeated_and_its_acknowledgement_is_not(make):
    slow, quick = make(), make()
    slow.add("a")
    executions = []
    with expects(LostClaim), slow.take(1, wait=0) as jobs:
        executions.append(jobs[0].name)
        slow.store.end_session(KEY, session_of(slow).id, None)
        quick.sweep()
        with quick.take(1, wait=0) as others:
            executions.append(others[0].name)
            quick_done = others.ack(others[0], [OUTCOME])

    assert executions == ["a", "a"]
    assert quick_done.state is JobState.DONE
    assert len(quick.store.written) == 1


def test_24_a_new_session_takes_over_parts_and_gives_them_back(make, duties):
    one, two = make(parts=8), make(parts=8)
    with one.take(wait=0):
        alone = list(one._worker.janitor.own_parts())
    with two.take(wait=0):
        pass
    duties.pass_seconds(1)
    shared = [list(queue._worker.janitor.own_parts()) for queue in (one, two)]
    two.close()
    duties.pass_seconds(1)

    assert alone == list(range(8))
    assert sorted(shared) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert list(one._worker.janitor.own_parts()) == list(range(8))


def test_24_dropping_a_part_leaves_the_work_on_it_alone(make, duties):
    one, two = make(parts=2), make(parts=2)
    one.add_all("abcdefgh")
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

            assert parts <= set(queue._worker.janitor.own_parts())


def test_24_a_ring_is_followed_into_a_part_of_somebody_else(make, duties, bell):
    one, two = make(parts=2), make(parts=2)
    for queue in (one, two):
        with queue.take(wait=0):
            pass
    duties.pass_seconds(1)
    foreign = next(p for p in (0, 1) if p not in one._worker.janitor.own_parts())
    name = next(str(i) for i in range(99) if job_key(KEY, 2, str(i)).part == PartKey(KEY, foreign))
    one.add(name)

    assert names(one._look(one._present(), 1, None, bell.wait(0, 1))) == [name]


def test_25_more_parts_are_the_way_to_more_throughput_and_order_holds_within_each(make, time):
    queue = make(parts=4)
    queue.add_all(str(i) for i in range(40))
    by_part: dict[int, list[int]] = {}
    with queue.take(40, wait=0) as jobs:
        for job in jobs:
            by_part.setdefault(job.key.part.number, []).append(int(job.name))

    assert len(by_part) == 4
    assert all(part == sorted(part) for part in by_part.values())
    assert replace(KEY, name="other") == QueueKey("tenant", "other")
