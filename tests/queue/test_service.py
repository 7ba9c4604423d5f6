"""The use cases beside the checklist: delays, reruns, pauses, functions of a doorbell, config, failures."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fanin.errors import InvalidRequest, NotFound, StaleWrite, StoreUnavailable
from fanin.queue import LostClaim, NewJob, Queue, QueueContext, QueueKey, Ring, SessionLost, ShutDown
from fanin.queue.administration.changing import pause, resume
from fanin.queue.config_cache import ConfigCache
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.lifecycle import entry_of
from fanin.queue.rules.messages import body
from tests.queue.conftest import KEY, OUTCOME, Boom, expects, names, session_of, unavailable


def taken(queue, most=10):
    with queue.take(most, wait=0) as jobs:
        return names(jobs)


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
    assert [(job.payload, job.failures) for job in queue.queued()] == [('"2"', 0)]


def test_the_process_that_creates_the_queue_chooses_its_parts(make):
    make(parts=4).add("a")
    later = make(parts=8)
    later.add("b")

    assert len(later.context.parts()) == 4


def test_an_ack_with_a_condition_that_fails_leaves_the_job_in_the_scope(queue):
    queue.context.store.admits = lambda write: write is not OUTCOME
    queue.add("a")
    with queue.take(wait=0) as jobs:
        with pytest.raises(StaleWrite):
            jobs.ack(jobs[0], [OUTCOME])
        jobs.ack(jobs[0], [{"Put": {}}])

    assert queue.context.store.written == [{"Put": {}}]


def test_a_job_of_another_scope_is_refused(queue):
    queue.add_all([*"ab"])
    with queue.take(wait=0) as jobs, queue.take(wait=0) as others:
        with pytest.raises(InvalidRequest):
            jobs.ack(others[0])
        jobs.ack(jobs[0])
        with pytest.raises(InvalidRequest):
            jobs.ack(jobs[0])


def test_an_unavailable_doorbell_does_not_fail_an_add(queue, monkeypatch, bell):
    monkeypatch.setattr(bell, "ring", unavailable)

    assert queue.add("a")
    assert taken(queue) == ["a"]


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


CONFIG = QueueConfig(4)


@pytest.mark.parametrize(
    ("seconds", "wall_us", "fresh"),
    [
        (59.999, 0, True),
        (60, 0, False),
        (0, 59_999_999, True),
        (0, 60_000_000, False),
        (0, -59_999_999, True),
        (0, -60_000_000, False),
    ],
)
def test_a_config_is_used_for_a_minute_by_both_clocks(seconds, wall_us, fresh):
    cache = ConfigCache()
    cache.keep(CONFIG, 100.0, 10**9)

    assert cache.fresh(100.0 + seconds, 10**9 + wall_us) == (CONFIG if fresh else None)


def test_a_job_that_a_clock_ahead_added_has_not_waited(queue, time):
    queue.add("a")
    time.passed -= 5_000_000

    assert queue.depth().oldest_us == 0


def test_a_waiting_take_gives_up_after_eight_failed_requests_in_a_row(queue, store):
    queue.add("a")
    with queue.take(wait=0) as jobs:
        assert names(jobs) == ["a"]
    reads = []
    store.ready = lambda *_: reads.append(1) or unavailable()
    with pytest.raises(StoreUnavailable), queue.take():
        pass

    assert len(reads) == 8


def test_failed_requests_of_a_take_are_counted_from_the_last_that_was_answered(
    queue, store, bell, monkeypatch
):
    ready, answers = store.ready, iter([False] * 7 + [True] + [False] * 7 + [True])
    store.ready = lambda *asked: ready(*asked) if next(answers) else unavailable()
    monkeypatch.setattr(bell, "wait", lambda *_: queue.add("a") and ())
    with queue.take(wait=0.5) as jobs:
        assert names(jobs) == ["a"]


def test_a_config_that_was_requested_earlier_replaces_none():
    cache = ConfigCache()
    cache.keep(CONFIG, 100.0, 10**9)
    cache.keep(None, 99.9, 10**9)
    kept = cache.config
    cache.keep(None, 100.0, 10**9)

    assert (kept, cache.config) == (CONFIG, None)


def test_no_job_of_a_paused_queue_is_taken_and_each_is_once_it_is_resumed(queue, make, time):
    queue.add_all(["a", "b"])
    time.sleep(1)
    config = pause(queue.context)
    queue.add("c")

    assert config.paused
    assert pause(queue.context) == config
    assert (taken(queue), taken(make())) == ([], [])
    assert not resume(queue.context).paused
    assert taken(queue) == ["a", "b", "c"]


def test_another_worker_knows_of_the_pause_within_a_heartbeat(queue, make, duties):
    other = make()
    taken(other)
    queue.add("a")
    pause(queue.context)
    duties.pass_seconds(1)

    assert other.context.cache.config.paused
    assert taken(other) == []


def test_a_function_reads_the_config_when_it_is_invoked(queue, make):
    function = make()
    function.add("a")
    pause(queue.context)
    with function.answer(event(Ring(0)), CONTEXT) as jobs:
        assert names(jobs) == []


def test_a_paused_take_receives_no_ring(queue, bell, monkeypatch):
    queue.add("a")
    pause(queue.context)
    rested = []
    monkeypatch.setattr(bell, "wait", unavailable)
    monkeypatch.setattr(bell, "pause", lambda seconds: rested.append(seconds) or resume(queue.context))
    with queue.take(wait=30) as jobs:
        assert names(jobs) == ["a"]

    assert rested == [1.0]


def test_a_resumed_queue_rings_for_its_ready_jobs(queue, bell):
    queue.add_all(["a", "b"])
    pause(queue.context)
    bell.rings.clear()
    resume(queue.context)

    assert [ring for _, ring in bell.rings] == [Ring(0), Ring(0)]


@pytest.mark.parametrize("change", [pause, resume])
def test_a_queue_that_does_not_exist_is_not_created_by_a_pause(store, bell, change):
    with pytest.raises(NotFound, match="nowhere"):
        change(QueueContext(store, bell, QueueKey("t", "nowhere")))
    assert store.config(QueueKey("t", "nowhere")) is None


def lost(queue: Queue) -> str:
    """Have the session of a queue end; its id."""
    taken(queue)
    session_of(queue).lost = True
    return session_of(queue).id


def test_the_take_after_a_lost_session_says_so_once(queue):
    queue.add("a")
    first = lost(queue)
    queue.add("b")
    with pytest.raises(SessionLost, match="renew=True"):
        taken(queue)

    assert taken(queue) == ["b"]
    assert session_of(queue).id != first


SECONDS = 30
CONTEXT = SimpleNamespace(get_remaining_time_in_millis=lambda: SECONDS * 1000)


def event(*rings: Ring, key: QueueKey = KEY) -> dict:
    """The context that Lambda passes."""
    return {"Records": [{"messageId": "r", "body": body(key, ring), "receiptHandle": "r"} for ring in rings]}


def test_an_invocation_takes_a_job_for_each_ring_at_most_and_acks_them(queue):
    queue.add_all([*"abc"])
    with queue.answer(event(Ring(0), Ring(0)), CONTEXT) as jobs:
        taken = names(jobs)
        jobs.ack(jobs[0], [OUTCOME])

    assert taken == ["a", "b"]
    assert names(queue.queued()) == ["c"]
    assert queue.context.store.written == [OUTCOME]


@pytest.mark.parametrize("answer", [None, "soon"])
def test_a_context_without_the_time_that_is_left_is_refused(queue, answer):
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: answer)
    with pytest.raises(InvalidRequest, match="that of a Lambda"), queue.answer(event(Ring(0)), context):
        pass


def in_parts(queue, *parts: int) -> list[NewJob]:
    """A new job in each of *parts*, the first with the highest priority."""
    found: dict[int, list[str]] = {}
    for number in range(500):
        found.setdefault(queue.context.rows(f"job-{number}").at.part.number, []).append(f"job-{number}")
    return [NewJob(found[part].pop(), priority=999 - n) for n, part in enumerate(parts)]


def test_a_job_of_one_part_is_not_taken_for_the_ring_of_another(make):
    queue = make(parts=2)
    first, second, third = in_parts(queue, 0, 0, 1)
    queue.add_all([first, second, third])
    with queue.answer(event(Ring(0), Ring(1)), CONTEXT) as jobs:
        assert set(names(jobs)) == {first.key, third.key}
    with queue.answer(event(Ring(0)), CONTEXT) as jobs:
        assert names(jobs) == [second.key]


def test_jobs_that_another_invocation_claims_meanwhile_are_replaced_by_the_next_ones(
    queue, store, monkeypatch
):
    queue.add_all([*"abcd"])
    whole, looks = store.ready, []

    def raced(part, most):
        heads = whole(part, most)
        looks.append(len(heads))
        if len(looks) == 1:
            with queue.take(1, wait=0) as jobs:
                assert names(jobs) == ["a"]
        return heads

    monkeypatch.setattr(store, "ready", raced)
    with queue.answer(event(Ring(0), Ring(0)), CONTEXT) as jobs:
        assert names(jobs) == ["b", "c"]


def test_what_others_still_claim_after_some_rounds_is_rung_for_again(queue, store, bell, monkeypatch):
    queue.add("a")
    heads = store.ready(queue.context.part(0), 1)
    with queue.take(1, wait=0):
        bell.rings.clear()
        monkeypatch.setattr(store, "ready", lambda part, most: heads)
        with queue.answer(event(Ring(0)), CONTEXT) as jobs:
            assert names(jobs) == []

    assert [ring for _, ring in bell.rings] == [Ring(0)]


def test_a_delayed_job_is_promoted_by_the_ring_that_says_it_is_due(queue, time, bell, monkeypatch):
    queue.add_all([NewJob("a", delay=5), NewJob("b", delay=6)])
    time.sleep(5)
    with queue.answer(event(Ring(0)), CONTEXT) as jobs:
        early = names(jobs)
    with queue.answer(event(Ring(0, due=True)), CONTEXT) as jobs:
        assert (early, names(jobs)) == ([], ["a"])
    monkeypatch.setattr(bell, "wait", lambda *_: time.sleep(2) or [Ring(0, due=True)])
    with queue.take() as jobs:
        assert names(jobs) == ["b"]


def test_a_take_of_some_parts_leaves_the_jobs_of_the_others(make):
    queue = make(parts=2)
    first, second, third = in_parts(queue, 0, 0, 1)
    queue.add_all([first, second, third])
    with queue.take(9, wait=0, parts=[1]) as jobs:
        assert names(jobs) == [third.key]
    with queue.take(wait=0) as jobs:
        assert names(jobs) == [first.key], "one, unless more are asked for"


def test_a_take_that_waits_for_another_until_its_time_is_over_has_no_job(queue):
    queue.add("a")
    with queue.taker.lock.acquired(None), queue.take(wait=0) as jobs:
        assert names(jobs) == []


def test_a_worker_takes_the_jobs_that_it_freed_whichever_session_owns_their_part(make):
    queue, ended = make(), make()
    queue.add("a")
    with queue.take(wait=0, parts=[0]) as jobs:
        jobs.release(jobs[0])
    ended.take(wait=0).__enter__()
    worker = queue.taker.worker
    worker.maintenance.free_all([entry_of(job) for job in queue.in_progress()])

    assert names(worker.take([], 1)) == ["a"]


def test_an_exception_returns_the_jobs_and_goes_on_so_that_the_rings_come_again(queue):
    queue.add_all([*"ab"])
    with expects(Boom), queue.answer(event(Ring(0), Ring(0)), CONTEXT):
        raise Boom

    assert [(job.name, job.failures) for job in queue.queued()] == [("a", 1), ("b", 1)]
    assert queue.sessions() == []


def test_a_session_of_an_invocation_lasts_as_long_as_its_time(queue, time):
    queue.add("a")
    with expects(LostClaim), queue.answer(event(Ring(0)), CONTEXT) as jobs:
        (session,) = queue.sessions()
        lasts = session.expires_us - time.now()
        time.sleep(SECONDS)
        jobs.ack(jobs[0], [OUTCOME])

    assert (session.beats, lasts) == (False, (SECONDS + 1) * 1_000_000)
    assert queue.context.store.written == []


@pytest.mark.parametrize(
    "stray", [event(Ring(0), key=QueueKey("tenant", "others")), {"Records": [{"body": "{}"}]}]
)
def test_a_message_that_is_no_ring_of_this_queue_is_refused_before_anything_is_taken(queue, stray):
    queue.add("a")
    mixed = {"Records": [*event(Ring(0))["Records"], *stray["Records"]]}
    mixed["Records"][1].setdefault("receiptHandle", "r")
    with expects(InvalidRequest), queue.answer(mixed, CONTEXT):
        pass

    assert [(job.name, job.deliveries) for job in queue.queued()] == [("a", 0)]
