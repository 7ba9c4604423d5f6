"""The requests, pauses and rings of a session's claims, one after another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue.rules.lifecycle import given_back
from fanin.queue.rules.model import GivenBack, JobState
from tests.queue.claiming import Bench
from tests.queue.conftest import Boom


@pytest.fixture
def bench():
    return Bench()


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
