"""What a sweep requests, frees, promotes and rings for, and what one that fails leaves for the next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import Conflict, StoreUnavailable
from fanin.queue import OutboxEntry
from fanin.queue.upkeep.maintenance import Maintenance
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY


@pytest.fixture
def bench():
    return Bench()


def sweep(bench):
    """Run the scheduled sweep; return its maintenance."""
    maintenance = Maintenance(bench.context)
    bench.forget()
    maintenance.sweep_queue(1)
    return maintenance


def abandoned(bench, *names):
    """Claim jobs in a session whose row is gone."""
    taken = bench.take(*names)
    bench.store.real.sessions[KEY].clear()
    return taken


def requests(bench):
    """Return the requests of jobs that a sweep finds, by name."""
    return [name for name in bench.store.names() if name in {"promote", "give_back", "some_members"}]


def test_a_due_job_that_another_sweep_promotes_is_not_rung_for(bench):
    bench.add("a", delay=5)
    bench.time.sleep(5)
    bench.store.scripts["promote"] = lambda *_: False
    sweep(bench)

    assert (requests(bench), bench.bell.rung) == (["promote"], [])


def test_the_sessions_of_the_busy_jobs_are_read_once_in_the_order_of_their_ids(bench):
    names = "abcdefghijkl"
    for job, session in zip(bench.take(*names), names[::-1], strict=True):
        bench.store.real.stored[job.key] = replace(job, session=session)
    sweep(bench)

    assert bench.store.of("some_members") == [(KEY, [*names])]


def test_a_freed_job_whose_row_lacks_the_time_of_its_claim_is_passed_on_before_the_others(bench):
    first, broken = abandoned(bench, "a", "b")
    bench.store.real.stored[broken.key] = replace(broken, claimed_us=None)
    passed_on = sweep(bench).pop_freed(2)

    assert [entry.key for entry in passed_on] == [broken.key, first.key]


@pytest.mark.parametrize(("seconds", "passed_on"), [(9.999, 1), (10, 0)])
def test_freed_jobs_are_passed_on_for_less_than_two_expiries(bench, seconds, passed_on):
    abandoned(bench, "a")
    maintenance = sweep(bench)
    bench.time.sleep(seconds)

    assert len(maintenance.pop_freed(1)) == passed_on


@pytest.mark.parametrize(("more_us", "rung"), [(-1, []), (0, []), (1, [(0, False, 0.0)])])
def test_a_ready_job_is_rung_for_again_once_it_has_waited_for_more_than_two_sweeps(bench, more_us, rung):
    bench.add("a")
    bench.time.passed += 10_000_000 + more_us
    sweep(bench)

    assert bench.bell.rung == rung


def failing_at(bench, request, error):
    """Fail the first of such requests."""
    failures = [error]

    def answer(*asked):
        if failures:
            raise failures.pop()
        return getattr(bench.store.real, request)(*asked)

    bench.store.scripts[request] = answer


@pytest.mark.parametrize("request_", ["members", "first", "promote", "outbox"])
def test_a_sweep_ends_with_its_first_request_that_is_unavailable(bench, request_):
    bench.add("a", "b", delay=5)
    bench.time.sleep(6)
    failing_at(bench, request_, StoreUnavailable("out of reach"))
    with pytest.raises(StoreUnavailable):
        sweep(bench)

    assert bench.store.names()[-1] == request_
    assert bench.store.names().count(request_) == 1


@pytest.mark.parametrize(("error", "tried"), [(StoreUnavailable("out of reach"), 1), (Conflict("no"), 2)])
def test_a_report_that_is_unavailable_ends_the_sweep_and_one_that_is_refused_does_not(bench, error, tried):
    entries = {n: OutboxEntry(n, n, False, None, n, 0) for n in "ab"}
    bench.store.real.outboxes = {KEY: dict(entries)}
    asked = []

    def report(entry):
        asked.append(entry.item_id)
        raise error

    maintenance = Maintenance(replace(bench.context, report=report))
    if tried == 1:
        with pytest.raises(StoreUnavailable):
            maintenance.sweep_queue(1)
    else:
        assert maintenance.sweep_queue(1)[1]

    assert asked == [*"ab"][:tried]
    assert bench.store.real.outboxes == {KEY: entries}
