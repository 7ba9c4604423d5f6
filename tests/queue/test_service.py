"""The use cases beside the checklist: delays, reruns, the outbox, functions, and failures."""

from __future__ import annotations

import threading

import pytest

from fanin.errors import InvalidRequest, StaleWrite, StoreUnavailable
from fanin.queue import (
    LostClaim,
    MemoryDoorbell,
    NewJob,
    Options,
    OutboxEntry,
    Queue,
    QueueContext,
    Ring,
    ShutDown,
)
from fanin.queue.effects import Effects
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.taking import TakeRequest
from tests.item_ids import item_named
from tests.queue.conftest import KEY, OUTCOME, expects, names, unavailable


def taken(queue, most=10):
    with queue.take(most, wait=0) as jobs:
        return names(jobs)


def test_a_ring_that_is_due_wakes_a_delayed_job_before_the_sweep_does(queue, time, bell):
    queue.add(NewJob("a", delay=3))
    time.sleep(3)
    (ring,) = [ring for _, ring in bell.rings]

    assert ring == Ring(0, due=True)
    assert names(queue._look(queue._live_worker(), TakeRequest(), [ring])) == ["a"]


def test_a_failed_job_waits_for_its_retry(make, time, duties):
    queue = make(retry_delay=3.0)
    queue.add("a")
    with expects(ZeroDivisionError), queue.take(wait=0):
        raise ZeroDivisionError
    (job,) = queue.delayed()

    assert (job.failures, job.ready_us) == (1, time.now() + 3_000_000)
    duties.pass_seconds(25)

    assert names(queue.queued()) == ["a"]


def test_a_single_release_has_its_own_delay_and_counts_only_where_it_says_so(queue, time):
    queue.add_all([*"ab"])
    with queue.take(2, wait=0) as jobs:
        jobs.release(jobs[0], delay=9)
        jobs.release(jobs[1], failed=True)

    assert [(job.name, job.failures, job.ready_us) for job in queue.delayed()] == [
        ("a", 0, time.now() + 9_000_000)
    ]
    assert [(job.name, job.failures) for job in queue.queued()] == [("b", 1)]


@pytest.mark.parametrize("error", [LostClaim, ShutDown, StoreUnavailable])
def test_errors_that_do_not_concern_the_job_count_no_failure(queue, error):
    queue.add("a")
    with expects(error), queue.take(wait=0):
        raise error("x")

    assert [(job.name, job.failures) for job in queue.queued()] == [("a", 0)]


def test_a_rerun_survives_a_failure_and_a_dead_job(make):
    queue = make(max_failures=2)
    queue.add("a", "1")
    for asked in (True, False):
        with expects(ZeroDivisionError), queue.take(wait=0):
            if asked:
                queue.add("a", "2", on_busy="rerun")
            raise ZeroDivisionError

    assert names(dead.job for dead in queue.dead()) == ["a"]
    assert [(job.payload, job.failures) for job in queue.queued()] == [("2", 0)]


def test_the_process_that_creates_the_queue_chooses_its_parts(make):
    make(parts=4).add("a")
    later = make(parts=8)
    later.add("b")

    assert len(later.context.parts()) == 4


def test_a_process_reads_the_config_again_after_a_minute(make, time):
    queue = make(parts=4)
    queue.add("a")
    queue.context.store.reconfigure(KEY, QueueConfig(8, revision=1))
    time.sleep(59)
    before = len(queue.context.parts())
    time.sleep(1)

    assert (before, len(queue.context.parts())) == (4, 8)


def test_an_ack_with_a_condition_that_fails_leaves_the_job_in_the_scope(queue):
    queue.context.store.admits = lambda write: write is not OUTCOME
    queue.add("a")
    with queue.take(wait=0) as jobs:
        with pytest.raises(StaleWrite):
            jobs.ack(jobs[0], [OUTCOME])
        jobs.ack(jobs[0], [{"Put": {}}])

    assert queue.context.store.written == [{"Put": {}}]


def test_an_ack_has_room_for_98_writes(queue):
    queue.add("a")
    with queue.take(wait=0) as jobs:
        with pytest.raises(InvalidRequest):
            jobs.ack(jobs[0], [OUTCOME] * 99)
        jobs.ack(jobs[0], [OUTCOME] * 98)

    assert len(queue.context.store.written) == 98


def test_a_job_of_another_scope_is_refused(queue):
    queue.add_all([*"ab"])
    with queue.take(wait=0) as jobs, queue.take(wait=0) as others:
        with pytest.raises(InvalidRequest):
            jobs.ack(others[0])
        jobs.ack(jobs[0])
        with pytest.raises(InvalidRequest):
            jobs.ack(jobs[0])


def test_one_lost_claim_does_not_keep_the_others_from_their_ack(queue):
    queue.add_all([*"abc"])
    with expects(LostClaim), queue.take(3, wait=0) as jobs:
        queue.context.store.stored.pop(jobs[0].key)

    assert queue.queued() == queue.in_progress() == []


def test_a_store_that_times_out_at_the_end_of_a_scope_leaves_the_job_to_the_sweep(make, monkeypatch, duties):
    queue = make()
    queue.add("a")
    whole = queue.context.store.end, queue.context.store.give_back
    with expects(StoreUnavailable), queue.take(wait=0):
        monkeypatch.setattr(queue.context.store, "end", unavailable)
        monkeypatch.setattr(queue.context.store, "give_back", unavailable)
    queue.context.store.end, queue.context.store.give_back = whole
    duties.pass_seconds(25)

    assert [(job.name, job.failures) for job in queue.queued()] == [("a", 0)]


def test_a_claim_that_timed_out_and_was_applied_is_found_by_the_sweep(queue, monkeypatch, duties):
    queue.add("a")
    whole = queue.context.store.claim

    def times_out(*args):
        whole(*args)
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(queue.context.store, "claim", times_out)
    first = taken(queue)
    monkeypatch.setattr(queue.context.store, "claim", whole)
    lost = names(queue.in_progress())
    duties.pass_seconds(25)

    assert (first, lost) == ([], ["a"])
    assert taken(queue) == ["a"]


def test_a_take_gives_up_if_the_store_stays_unavailable(queue, monkeypatch):
    with queue.take(wait=0):
        monkeypatch.setattr(queue.context.store, "ready", unavailable)
    with expects(StoreUnavailable), queue.take():
        pass


def test_an_unavailable_doorbell_does_not_fail_an_add(queue, monkeypatch, bell):
    monkeypatch.setattr(bell, "ring", unavailable)

    assert queue.add("a")
    assert taken(queue) == ["a"]


def test_a_job_whose_ring_was_lost_is_rung_for_by_the_sweep(queue, bell, time):
    queue.add("a")
    bell.rings.clear()
    time.sleep(11)
    queue.sweep()

    assert [ring for _, ring in bell.rings] == [Ring(0)]


def test_each_end_with_an_item_is_reported(make, duties):
    reported: list[OutboxEntry] = []
    queue = make(report=reported.append, max_failures=1)
    queue.add_all([NewJob("a", item_id=item_named("a")), NewJob("b", item_id=item_named("b")), NewJob("c")])
    with queue.take(wait=0):
        pass
    with expects(ZeroDivisionError), queue.take(wait=0):
        raise ZeroDivisionError
    duties.pass_seconds(25)

    assert [(entry.item_id, entry.failed) for entry in reported] == [
        (item_named("a"), False),
        (item_named("b"), True),
    ]
    assert not any(map(queue.context.store.outbox, queue.context.parts()))


def test_an_end_that_could_not_be_reported_is_reported_by_the_sweep(make):
    reported: list[OutboxEntry] = []
    failing, other = make(report=unavailable), make(report=reported.append)
    failing.add(NewJob("a", item_id=item_named("a")))
    taken(failing)
    other.sweep()

    assert [entry.item_id for entry in reported] == [item_named("a")]


def test_a_function_works_without_a_heartbeat_until_its_time_is_over(make, duties, time):
    queue, watcher = make(), make()
    with watcher.take(wait=0):
        pass
    queue.add_all([*"ab"])
    with queue.bounded(3.0) as bounded:
        with bounded.take(1, wait=0, parts=[0]) as jobs:
            assert names(jobs) == ["a"]
        duties.pass_seconds(3)
        with expects(ShutDown), bounded.take(1, wait=0):
            pass

    assert names(queue.queued()) == ["b"]
    assert len(queue.context.store.members(KEY)) == 1


def test_a_function_that_was_killed_loses_its_claims_after_its_time_and_not_before(make, duties):
    queue, watcher = make(), make()
    with watcher.take(wait=0):
        pass
    queue.add("a")
    bounded = queue.bounded(30.0)
    bounded.__enter__().take(1, wait=0).__enter__()
    duties.pass_seconds(32)
    early = names(watcher.queued())
    duties.pass_seconds(2)

    assert early == []
    assert names(watcher.queued()) == ["a"]


def test_work_in_threads_end_to_end():
    store, bell = MemoryStore(), MemoryDoorbell()
    options = Options(parts=2, heartbeat=0.05, expiry=5)
    with (
        Queue(QueueContext(store, bell, KEY, options)) as one,
        Queue(QueueContext(store, bell, KEY, options)) as two,
    ):
        threads = [threading.Thread(target=drain, args=(queue,)) for queue in (one, two)]
        for thread in threads:
            thread.start()
        assert one.add_all(str(i) for i in range(30)) == ()
        for thread in threads:
            thread.join(60)

        assert one.depth().ready == one.depth().busy == 0
    assert sorted(int(write["Put"]["job"]) for write in store.written) == list(range(30))
    assert store.members(KEY) == []


def drain(queue):
    while True:
        with queue.take(3, wait=1.0) as jobs:
            if not jobs:
                return
            for job in jobs:
                jobs.ack(job, [{"Put": {"job": job.name}}])


def test_a_request_is_insisted_on_so_often_and_not_more():
    effects, asked = Effects(pause=lambda _: None), []

    def times_out():
        asked.append(1)
        raise StoreUnavailable("x")

    with pytest.raises(StoreUnavailable):
        effects.insist(times_out)
    assert len(asked) == 4
