"""How a scope ends where an ack, a return, a duty or the block itself fails, and what a return rings for."""

from __future__ import annotations

import inspect
import sys
import threading
from dataclasses import replace

import pytest

from fanin.errors import Failed, InvalidRequest, StoreUnavailable
from fanin.queue import LostClaim, NewJob
from fanin.queue.maintenance.maintenance import Maintenance
from fanin.queue.producer import Producer
from fanin.queue.rules.lifecycle import given_back
from fanin.queue.rules.model import GivenBack, JobState, OnBusy
from fanin.queue.sessions import background
from fanin.queue.sessions.background import Duty, in_threads
from fanin.queue.sessions.taker import FairLock
from tests.item_ids import item_named
from tests.queue.conftest import Bench, Boom, expects, fail, names, session_of, unavailable


def test_an_end_that_finds_a_later_job_of_the_key_does_not_end_that_one(bench):
    (job,) = bench.take("a")
    later = replace(job, generation=job.generation + 2, claim="another")
    bench.store.scripts["end"] = lambda *_: later
    with pytest.raises(StoreUnavailable):
        bench.claims.end(job)

    assert {asked[0] for asked in bench.store.of("end")} == {job}


@pytest.mark.parametrize("method", ["take", "take_each"])
def test_a_take_that_breaks_off_returns_what_it_claimed(bench, method):
    bench.add(*"abc")
    claim, calls = bench.store.real.claim, []

    def broken(*asked):
        calls.append(asked)
        if len(calls) == 3:
            raise Boom
        return claim(*asked)

    bench.store.scripts["claim"] = broken
    with pytest.raises(Boom):
        getattr(bench.claims, method)(*([[0], 3] if method == "take" else [{0: 3}]))

    assert [job.name for job in bench.session.jobs()] == []
    assert [job.state for job in bench.store.real.stored.values()] == [JobState.READY] * 3
    assert bench.session.doubts() == {0}


def test_a_dead_job_has_the_time_of_its_last_run_and_is_not_rung_for():
    bench = Bench(max_failures=1)
    (job,) = bench.take("a")
    bench.time.sleep(3)
    bench.claims.give_back(job, failed=True)
    (dead,) = bench.store.real.dead(job.key.part, 9)

    assert (dead.job.failures, dead.job.busy_us, dead.died_us) == (1, 3_000_000, bench.time.now())
    assert bench.bell.rung == []


@pytest.mark.parametrize("wanted", [{0: 2}, {0: 1, 1: 1}], ids=["in a second round", "in a second part"])
def test_a_take_that_breaks_off_later_returns_what_it_claimed_before(wanted):
    bench, reads = Bench(parts=2), []
    bench.add(*"abcdefgh")
    ready = bench.store.real.ready

    def broken(part, most):
        reads.append(most)
        if len(reads) == 2:
            raise Boom
        return ready(part, 1)

    bench.store.scripts["ready"] = broken
    with pytest.raises(Boom):
        bench.claims.take_each(wanted)

    assert bench.session.held == {}
    assert {job.state for job in bench.store.real.stored.values()} == {JobState.READY}


@pytest.mark.parametrize(("wanted", "claimed", "rings"), [(1, 1, 0), (3, 2, 0), (3, 1, 2)])
def test_a_take_for_rings_rings_again_only_for_the_jobs_that_others_claim_meanwhile(
    bench, wanted, claimed, rings
):
    bench.add("a", "b")
    if rings:
        heads = bench.store.real.ready(bench.context.part(0), 2)
        bench.store.scripts["ready"] = lambda *_: heads
        bench.store.real.claim(heads[0], "another", "claim", bench.time.now())

    assert len(bench.claims.take_each({0: wanted})) == claimed == len(bench.session.held)
    assert bench.bell.rung == [(0, False, 0.0)] * rings
    assert min(most for _, most in bench.store.of("ready")) >= 1, "DynamoDB refuses a limit of 0"


def test_a_session_that_is_over_claims_nothing(bench):
    bench.add("a")
    bench.session.lost = True

    assert bench.claims.take([0], 1) == []
    assert [job.state for job in bench.store.real.stored.values()] == [JobState.READY]


@pytest.mark.parametrize("reported", [{"item_failure": "blurred"}, {"item_result": "7"}])
def test_the_end_of_a_job_whose_rerun_was_requested_meanwhile_has_what_its_worker_reported(bench, reported):
    bench.add("a", item_id=item_named("i"))
    (job,) = bench.claims.take([0], 1)
    bench.add("a")
    bench.claims.end(replace(job, **reported))
    (entry,) = bench.store.real.outbox(job.key.part)

    assert (entry.reason, entry.result) == (reported.get("item_failure"), reported.get("item_result"))


@pytest.mark.parametrize("fails", [False, True])
def test_the_end_of_a_job_with_an_item_is_reported_at_once_or_left_to_the_sweep(make, store, caplog, fails):
    reported = []
    queue = make(report=unavailable if fails else reported.append)
    queue.add_all(["a", *(NewJob(item, item_id=item_named(item)) for item in "bc")])
    with queue.take(3, wait=0) as jobs:
        jobs.fail(jobs[2], "never")
    waiting = store.outbox(jobs[0].key.part)

    entries = waiting if fails else reported
    assert {(entry.item_id, entry.failed) for entry in entries} == {
        (item_named("b"), False),
        (item_named("c"), True),
    }
    assert len(waiting) == caplog.text.count("the sweep repeats it") == 2 * fails


def test_the_sweep_leaves_a_claim_whose_answer_has_not_come_yet(bench):
    bench.add("a")
    claim = bench.store.real.claim

    def swept_before_the_answer(*asked):
        job = claim(*asked)
        Maintenance(bench.context, bench.session).sweep([0])
        assert bench.session.jobs() == []
        return job

    bench.store.scripts["claim"] = swept_before_the_answer
    (job,) = bench.claims.take([0], 1)

    assert (bench.stored(job), bench.session.jobs()) == (job, [job])


def test_an_end_whose_answer_is_lost_is_recognised_by_its_repeat(bench):
    (job,) = bench.take("a")
    end = bench.store.real.end
    bench.store.scripts["end"] = lambda *asked: unavailable(end(*asked), bench.store.scripts.clear())

    assert bench.claims.end(job).state is JobState.DONE
    assert bench.session.held == {}


def test_a_failed_job_whose_claim_is_lost_is_not_ended():
    bench = Bench(max_failures=1)
    (job,) = bench.take("a")
    bench.store.real.stored[job.key] = given_back(job, GivenBack(bench.time.now()))
    bench.claims.give_back(job, failed=True)

    assert (bench.session.held, bench.stored(job).state) == ({}, JobState.READY)


@pytest.mark.parametrize(
    ("delay", "failed", "ring"),
    [
        (0.0, False, (0, False, 0.0)),
        (0.0, True, (0, False, 0.0)),
        (0.5, True, (0, True, 0.5)),
        (2.5, True, (0, True, 2.5)),
    ],
)
def test_a_returned_job_is_rung_for_when_it_is_due(bench, delay, failed, ring):
    (job,) = bench.take("a")
    bench.time.sleep(3)
    bench.claims.give_back(job, failed=failed, delay=delay)
    at = bench.time.now()

    how = GivenBack(at, failed, at + round(delay * 1_000_000) if delay else None)
    assert bench.stored(job) == given_back(job, how)
    assert (bench.session.held, bench.bell.rung) == ({}, [ring])


@pytest.mark.parametrize("asked", ["claim", "give_back", "end"])
def test_a_claim_whose_request_has_no_answer_is_doubted(asked):
    bench = Bench(max_failures=1)
    bench.add("a")
    jobs = bench.claims.take([0], 1) if asked != "claim" else []
    bench.store.scripts[asked] = unavailable
    for job in jobs:
        bench.claims.give_back(job, failed=asked == "end")
    if asked == "claim":
        assert bench.claims.take([0], 1) == []

    assert (bench.session.held, bench.session.doubts()) == ({}, {0})


def test_a_take_goes_by_priority_over_all_parts():
    bench = Bench(parts=8)
    bench.add(*"abcdefgh")
    bench.add("urgent", priority=9)

    assert names(bench.claims.take(range(8), 3)) == ["urgent", "a", "b"]


def test_jobs_that_were_not_worked_on_are_rung_for_without_a_delay(bench):
    """SQS refuses a ring with a delay below 0."""
    bench.claims.give_back_all(bench.take("a", "b"))

    assert bench.bell.rung == [(0, False, 0.0)] * 2


def test_an_added_job_is_rung_for_when_it_is_due(bench):
    Producer(bench.context).add_all([NewJob("a"), NewJob("b", delay=0.5)], OnBusy.REJECT)

    assert bench.bell.rung == [(0, False, 0), (0, True, 1)]


def test_the_end_of_a_job_rings_for_the_rerun_that_was_requested(bench):
    (job,) = bench.take("a")
    bench.add("a")
    assert bench.claims.end(job) == bench.stored(job)
    (rerun,) = bench.claims.take([0], 1)
    bench.claims.end(rerun)

    assert bench.bell.rung == [(0, False, 0.0)]


def failing_for(store, monkeypatch, name: str) -> None:
    """Have the end of the job *name* fail."""
    whole = store.end

    def end(job, *more):
        return unavailable() if job.name == name else whole(job, *more)

    monkeypatch.setattr(store, "end", end)


@pytest.mark.parametrize("end", ["ack", "fail"])
def test_a_lost_claim_that_the_block_has_handled_is_not_raised_again(queue, store, end):
    queue.add_all([*"ab"])
    with queue.take(2, wait=0) as jobs:
        store.stored.pop(jobs[0].key)
        with pytest.raises(LostClaim):
            getattr(jobs, end)(jobs[0], *["never"] * (end == "fail"))
        with pytest.raises(InvalidRequest):
            jobs.ack(jobs[0])

    assert queue.queued() == queue.in_progress() == []


def test_an_ack_whose_outcome_is_unknown_does_not_keep_the_others_from_theirs(queue, store, monkeypatch):
    queue.add_all([*"abc"])
    with expects(StoreUnavailable), queue.take(3, wait=0):
        failing_for(store, monkeypatch, "a")

    assert names(queue.queued()) == ["a"]
    assert queue.in_progress() == []


def test_a_failure_for_good_ends_the_only_job_as_dead(queue):
    queue.add("a")
    with queue.take(wait=0):
        raise Failed("never")

    assert [(dead.job.name, dead.error) for dead in queue.dead()] == [("a", "never")]


def test_a_failure_for_good_that_cannot_be_stored_returns_its_job(queue, store, monkeypatch):
    queue.add("a")
    with expects(StoreUnavailable), queue.take(wait=0):
        failing_for(store, monkeypatch, "a")
        raise Failed("never")

    assert names(queue.queued()) == ["a"]


@pytest.mark.parametrize(
    ("error", "acked", "warned"), [(Failed, 0, True), (Failed, 2, False), (Boom, 0, False)]
)
def test_a_failure_for_good_that_does_not_say_which_job_failed_returns_them_all(
    queue, caplog, error, acked, warned
):
    queue.add_all([*"ab"])
    with expects(error), queue.take(2, wait=0) as jobs:
        for job in list(jobs)[:acked]:
            jobs.ack(job)
        raise error("never")

    assert names(queue.queued()) == [*"ab"][acked:]
    assert ("does not say which of 2 jobs failed" in caplog.text) == warned


@pytest.mark.parametrize(("lost", "late", "first"), [("a", "b", LostClaim), ("b", "a", StoreUnavailable)])
def test_the_first_of_several_errors_of_the_acks_is_raised(queue, store, monkeypatch, lost, late, first):
    queue.add_all([*"ab"])
    with expects(first), queue.take(2, wait=0) as jobs:
        failing_for(store, monkeypatch, late)
        (gone,) = [job for job in jobs if job.name == lost]
        store.stored.pop(gone.key)


def test_jobs_whose_return_is_interrupted_can_no_longer_be_acked(queue, store, monkeypatch):
    queue.add_all([*"ab"])

    def interrupted(*_):
        raise KeyboardInterrupt

    with expects(KeyboardInterrupt), queue.take(2, wait=0) as jobs:
        monkeypatch.setattr(store, "give_back", interrupted)
        raise ValueError
    for job in jobs:
        with pytest.raises(InvalidRequest, match="no longer"):
            jobs.ack(job)

    assert names(queue.in_progress()) == ["a", "b"]


def test_a_duty_that_fails_goes_on():
    runs, enough = [], threading.Event()

    def do():
        runs.append(len(runs))
        if len(runs) < 3:
            raise PermissionError
        enough.set()
        return False

    stop = in_threads([Duty(do, 0.001), Duty(lambda: True, 60)])
    enough.wait(60)
    stop()

    assert runs == [0, 1, 2]
    assert 0.5 < min(background.PACE) <= max(background.PACE) <= 1, "no duty waits longer than its interval"


class Mute(Exception):
    """An error whose text cannot be made."""

    def __repr__(self):
        raise AttributeError("reason")


def test_an_error_without_a_text_returns_its_jobs_as_any_other_does(make):
    queue = make(max_failures=2)
    queue.add_all([*"ab"])
    for _ in range(2):
        fail(queue, 2, Mute)

    assert names(queue.in_progress()) == []
    assert [dead.error for dead in queue.dead()] == ["Mute", "Mute"]


@pytest.mark.parametrize(
    ("error", "stored"),
    [("no file \udcff", "no file ?"), ("x" * 1001, "x" * 1000)],
    ids=["surrogate", "long"],
)
def test_an_error_whose_text_cannot_be_stored_is_stored_as_far_as_it_can_be(make, error, stored):
    queue = make(max_failures=1)
    queue.add("a")
    with queue.take(wait=0) as jobs:
        jobs.release(jobs[0], failed=True, error=error)

    assert [dead.error for dead in queue.dead()] == [stored]


@pytest.mark.parametrize("error", [KeyboardInterrupt, PermissionError])
@pytest.mark.parametrize("options", [{}, {"max_failures": 1}], ids=["returned", "buried"])
def test_a_return_that_is_broken_off_leaves_no_claim_that_is_not_swept(make, store, error, options):
    queue = make(**options)
    queue.add_all([*"abcd"])
    whole, calls = {"give_back": store.give_back, "end": store.end}, []

    def broken(name):
        def call(*args):
            calls.append(name)
            if len(calls) == 2:
                raise error
            return whole[name](*args)

        return call

    store.give_back, store.end = broken("give_back"), broken("end")
    with pytest.raises(error):
        fail(queue, 4)
    store.give_back, store.end = whole["give_back"], whole["end"]
    queue.taker.worker.maintenance.tick()

    assert names(queue.in_progress()) == []
    assert len(queue.queued()) + len(queue.dead()) == 4
    assert not session_of(queue).held


def interrupted_at(line):
    """Interrupt the lock before one of its lines, as Ctrl-C may."""

    def trace(frame, event, _):
        if frame.f_code is not FairLock.acquired.__wrapped__.__code__:
            return trace if event == "call" else None
        if event == "line" and frame.f_lineno == line:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    return trace


def test_an_interruption_while_a_take_waits_leaves_no_take_in_the_line():
    source, first = inspect.getsourcelines(FairLock.acquired.__wrapped__)
    before = next(number for number, text in enumerate(source) if text.strip() == "finally:")
    for number in range(1, before):
        lock = FairLock()
        usual = sys.gettrace()
        sys.settrace(interrupted_at(first + number))
        try:
            with lock.acquired(0):
                pass
        except KeyboardInterrupt:
            assert not lock.line
        finally:
            sys.settrace(usual)

        assert not lock.line


def test_a_lock_that_is_not_acquired_in_time_is_given_up():
    lock = FairLock()
    with lock.acquired(None) as first, lock.acquired(0) as second:
        assert (first, second) == (True, False)
    with lock.acquired(0) as mine:
        assert mine


def test_duties_are_stopped_once_what_runs_has_ended():
    began, ended = threading.Event(), []

    def do():
        began.set()
        threading.Event().wait(0.05)
        ended.append(True)
        return True

    stop = in_threads([Duty(do, 0.001)])
    assert began.wait(10)
    stop()

    assert ended[0]


def test_a_scope_that_is_not_entered_has_no_job_and_has_lost_none(queue):
    queue.add("a")
    scope, other = queue.take(wait=0), queue.take(wait=0)
    with other as jobs, pytest.raises(InvalidRequest, match="'a'"):
        scope.ack(jobs[0])

    assert (len(scope), scope.lost) == (0, False)
