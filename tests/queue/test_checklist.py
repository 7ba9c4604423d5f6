"""What two articles ask of a queue, by number; 6 is in test_aio.py."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import nullcontext
from dataclasses import replace
from itertools import count

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue import LostClaim, MemoryDoorbell, NewJob, Options, Queue, QueueContext, Ring, ShutDown
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.keys import PartKey, job_key
from fanin.queue.rules.taking import TakeRequest
from tests.item_ids import item_named
from tests.queue.conftest import KEY, OUTCOME, Boom, expects, fail, names, session_of, unavailable


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


@pytest.mark.parametrize("is_stored", [True, False])
def test_05_a_run_requested_of_a_job_that_ends_meanwhile_is_a_job_of_its_own(
    queue, store, monkeypatch, is_stored
):
    """*is_stored*: whether the table still has the row of the ended job."""
    rerun = store.rerun

    def after_the_end(seen, request):
        scope.__exit__(None, None, None)
        if not is_stored:
            store.stored.clear()
        return rerun(seen, request)

    monkeypatch.setattr(store, "rerun", after_the_end)
    queue.add("a")
    scope = queue.take()
    scope.__enter__()

    assert queue.add(NewJob("a", id="mine"), on_busy="rerun")
    assert [job.id for job in queue.queued()] == ["mine"]


def test_05_a_run_with_another_item_that_was_requested_first_is_kept(queue, store, monkeypatch):
    def too_late(seen, request):
        monkeypatch.undo()
        assert queue.add(NewJob("a", item_id=item_named("first")), on_busy="rerun")
        return store.rerun(seen, request)

    monkeypatch.setattr(store, "rerun", too_late)
    queue.add("a")
    with queue.take():
        assert not queue.add(NewJob("a", item_id=item_named("second")), on_busy="rerun")

    assert [job.item_id for job in queue.queued()] == [item_named("first")]


def test_05_a_requested_run_that_others_always_replace_asks_for_a_retry(queue, store, monkeypatch):
    ids = map(str, count())
    monkeypatch.setattr(store, "rerun", lambda seen, run: replace(seen, rerun=replace(run, id=next(ids))))
    queue.add("a")
    with queue.take(), pytest.raises(StoreUnavailable, match="too many adds"):
        queue.add("a", on_busy="rerun")


@pytest.mark.parametrize("meanwhile", ["the table deletes the mark", "another job runs"])
def test_05_an_add_over_a_mark_is_stored_whatever_became_of_the_mark(queue, store, monkeypatch, meanwhile):
    add = store.add

    def late(job, over, check):
        if over is not None:
            monkeypatch.undo()
            store.stored.clear() if meanwhile == "the table deletes the mark" else queue.add("a")
            with queue.take(wait=0):
                pass
        return add(job, over, check)

    run_others(queue, 1)
    monkeypatch.setattr(store, "add", late)

    assert queue.add("a")
    assert names(queue.queued()) == ["a"]


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


def test_12_a_dead_job_frees_its_key_and_is_revived_when_the_key_is_free(make, bell):
    queue = make(max_failures=1)
    queue.add("a")
    fail(queue)
    (dead,) = queue.dead()

    assert queue.add("a")
    assert not queue.revive(dead)
    with queue.take():
        pass
    bell.rings.clear()

    assert queue.revive(dead)
    assert [ring for _, ring in bell.rings] == [Ring(0)]
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
    assert function.sessions() == []


def test_20_a_graceful_close_returns_the_claims_and_ends_the_session_at_once(make, duties):
    queue, other = make(), make()
    queue.add("a")
    with expects(LostClaim), queue.take(1, wait=0) as jobs:
        queue.close()

        assert (jobs.lost, duties.of[0], other.sessions()) == (True, [], [])
        assert [(job.name, job.failures) for job in other.queued()] == [("a", 0)]
        jobs.ack(jobs[0])
    with pytest.raises(ShutDown), queue.take(1, wait=0):
        pass
    assert list(queue.stream()) == []


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


def test_24_the_parts_of_an_expired_session_are_shared_anew_at_once(make, duties):
    queues = [make(parts=4) for _ in range(3)]
    for queue in queues:
        with queue.take(wait=0):
            pass
    maintenance = queues[1].taker.worker.maintenance
    duties.pass_seconds(1)
    duties.pass_seconds(4, without=(0,))
    before = list(maintenance.own_parts())
    duties.pass_seconds(1, without=(0,))

    assert (before, list(maintenance.own_parts())) == ([1], [0, 1])


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
