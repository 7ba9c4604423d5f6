"""The requests, pauses and rings of a session's claims, one after another."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from fanin.errors import PartFull, StoreUnavailable
from fanin.queue.rules.errors import LostClaim
from fanin.queue.rules.lifecycle import given_back
from fanin.queue.rules.model import Dead, GivenBack, JobState
from tests.queue.claiming import Bench
from tests.queue.conftest import Boom, names


@pytest.fixture
def bench():
    return Bench()


def test_a_claim_is_held_before_it_is_requested_and_not_yet_a_job(bench):
    bench.add("a")
    seen = []

    def look(*asked):
        seen.append((dict(bench.session.held), bench.session.jobs()))
        return bench.store.real.claim(*asked)

    bench.store.scripts["claim"] = look
    (job,) = bench.claims.take([0], 1)

    assert seen == [({job.claim: None}, [])]
    assert bench.session.jobs() == [job]


def test_a_take_of_rings_rings_only_for_what_it_did_not_get(bench):
    bench.add(*"abc")
    claim, lost = bench.store.real.claim, []

    def once(*asked):
        lost.append(asked)
        return claim(*asked) if len(lost) == 1 else None

    bench.store.scripts["claim"] = once

    assert names(bench.claims.take_each({0: 3})) == ["a"]
    assert bench.bell.rung == [(0, False, 0.0)] * 2


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


def test_a_take_of_rings_that_breaks_off_in_a_later_part_returns_the_jobs_of_the_first():
    bench = Bench(parts=8)
    bench.add(*"abcdefgh")
    ready = bench.store.real.ready
    parts = sorted({job.key.part.number for job in bench.store.real.stored.values()})[:2]

    def broken(key, most):
        if key.number == parts[1]:
            raise Boom
        return ready(key, most)

    bench.store.scripts["ready"] = broken
    with pytest.raises(Boom):
        bench.claims.take_each({parts[0]: 1, parts[1]: 1})

    assert bench.session.held == {}
    assert {job.state for job in bench.store.real.stored.values()} == {JobState.READY}


def test_a_dead_session_claims_nothing(bench):
    bench.add("a")
    bench.session.lost = True

    assert bench.claims.take_these(bench.store.real.ready(bench.context.part(0), 1), 1) == []
    assert bench.claims.take_each({0: 1}) == []
    assert "claim" not in bench.store.names()
    assert bench.bell.rung == []


@pytest.mark.parametrize(("error", "doubted"), [(StoreUnavailable("?"), {0}), (PartFull("full"), set())])
def test_a_claim_without_an_answer_is_doubted_and_a_refused_one_is_not(bench, error, doubted):
    bench.add("a")

    def refuse(*_):
        raise error

    bench.store.scripts["claim"] = refuse

    assert bench.claims.take_these(bench.store.real.ready(bench.context.part(0), 1), 1) == []
    assert (bench.session.held, bench.session.doubts()) == ({}, doubted)


def test_a_lost_session_ends_no_job(bench):
    (job,) = bench.take("a")
    bench.session.lost = True
    with pytest.raises(LostClaim):
        bench.claims.end(job)

    assert (bench.store.of("end"), bench.session.held) == ([], {})


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


def test_jobs_that_were_not_worked_on_are_rung_for_without_a_delay(bench):
    """SQS refuses a ring with a delay below 0."""
    bench.claims.give_back_all(bench.take("a", "b"))

    assert bench.bell.rung == [(0, False, 0.0)] * 2


@pytest.mark.parametrize("error", [StoreUnavailable("?"), Boom()])
@pytest.mark.parametrize(("request_", "failed"), [("give_back", False), ("end", True)])
def test_a_return_or_a_death_without_an_answer_is_doubted(error, request_, failed):
    bench = Bench(max_failures=1)
    (job,) = bench.take("a")

    def fail(*_):
        raise error

    bench.store.scripts[request_] = fail
    with pytest.raises(Boom) if isinstance(error, Boom) else nullcontext():
        bench.claims.give_back(job, failed=failed)

    assert (bench.session.held, bench.session.doubts()) == ({}, {0})


@pytest.mark.parametrize(
    ("failures", "failed", "dies"), [(1, True, False), (2, True, True), (2, False, False)]
)
def test_a_job_dies_of_its_last_failure(failures, failed, dies):
    bench = Bench(max_failures=3)
    (job,) = bench.take("a")
    bench.time.sleep(2)
    seen = replace(job, failures=failures)
    bench.claims.give_back(seen, failed=failed, error="x" * 1001)

    worked = replace(seen, failures=3, busy_us=2_000_000)
    dead = Dead(worked, "x" * 1000, bench.time.now())
    assert bench.store.of("end") == ([(seen, bench.time.now(), (), dead)] if dies else [])
    assert len(bench.store.of("give_back")) == (not dies)


def test_a_take_goes_by_priority_over_all_parts():
    bench = Bench(parts=8)
    bench.add(*"abcdefgh")
    bench.add("urgent", priority=9)

    assert names(bench.claims.take(range(8), 3)) == ["urgent", "a", "b"]


@pytest.mark.parametrize("failed", [False, True])
def test_the_end_of_a_job_whose_claim_is_gone_is_not_repeated(failed):
    bench = Bench(max_failures=1)
    (job,) = bench.take("a")
    bench.store.scripts["end"] = lambda *_: None
    if failed:
        bench.claims.give_back(job, failed=True, error="\udcff")
    else:
        with pytest.raises(LostClaim):
            bench.claims.end(job)

    assert len(bench.store.of("end")) == 1
    assert (bench.session.held, bench.session.doubts()) == ({}, set())
