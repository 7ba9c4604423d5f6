"""A job is claimed once, and returned by its claim alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.names import JOB_ATTRIBUTES
from fanin.queue.dynamodb import items
from fanin.queue.rules import lifecycle
from fanin.queue.rules.model import (
    GivenBack,
    JobState,
)
from tests.contract.queue.calls import LATER, NOW, PART, added, head, new, taken


def test_a_claim_makes_the_job_busy_and_counts_it(store):
    job = taken(store)

    assert (job.state, job.session, job.claim, job.claimed_us) == (JobState.BUSY, "s1", "c1", LATER)
    assert (job.deliveries, job.queued_us, job.payload) == (1, LATER - NOW, "{}")
    assert store.get(job.key) == job
    assert store.ready(PART, 10) == []
    assert store.jobs(PART, JobState.BUSY, 10) == [job]


@pytest.mark.parametrize("early", [0, 1, 1_000_000])
def test_a_claim_before_the_job_is_ready_adds_no_time_to_its_wait(store, early):
    """The clock of the consumer can be behind that of the producer."""
    assert taken(store, at=NOW - early).queued_us == 0


def test_a_job_is_claimed_once_and_a_repeated_claim_is_answered_again(store):
    added(store)
    seen = head(store)
    first = store.claim(seen, "s1", "c1", LATER)

    assert store.claim(seen, "s2", "c2", LATER) is None
    assert store.claim(seen, "s1", "c1", LATER) == first


def test_a_late_copy_of_a_claim_takes_nothing_that_came_back(store):
    added(store)
    seen = head(store)
    store.give_back(lifecycle.entry_of(store.claim(seen, "s1", "c1", LATER)), GivenBack(LATER))

    assert store.claim(seen, "s1", "c1", LATER) is None
    assert store.get(seen.key).state is JobState.READY


def test_a_returned_job_has_its_old_position_and_its_metrics(store):
    job = taken(store, at=LATER)
    added(store, "b", NOW + 1)

    assert store.give_back(lifecycle.entry_of(job), GivenBack(LATER + 7, failed=True))
    back = store.get(job.key)

    assert head(store).key == job.key
    assert (back.failures, back.busy_us, back.ready_us, back.claim) == (1, 7, LATER + 7, None)


@pytest.mark.parametrize("how", [GivenBack(LATER + 7), GivenBack(LATER, failed=True, due_us=LATER + 9)])
def test_a_returned_job_is_read_without_its_session_and_claim(store, how):
    job = taken(store)
    store.give_back(lifecycle.entry_of(job), how)
    back = store.get(job.key)

    assert (back.session, back.claim, back.claimed_us) == (None, None, None)
    assert back == lifecycle.given_back(job, how)


def test_a_returned_job_waits_for_its_delay(store):
    job = taken(store)
    store.give_back(lifecycle.entry_of(job), GivenBack(LATER, failed=True, due_us=LATER + 9))
    (delayed,) = store.jobs(PART, JobState.DELAYED, 10)

    assert (delayed.state, delayed.ready_us, delayed.failures) == (JobState.DELAYED, LATER + 9, 1)
    assert store.ready(PART, 10) == []
    assert store.outstanding(PART, LATER + 8) == []
    assert [entry.job_id for entry in store.outstanding(PART, LATER + 9)] == [job.id]


def test_nothing_returns_or_ends_a_job_without_naming_its_claim(store):
    """A waiting job has no claim, and neither has an entry of it."""
    for seen in (added(store, "a"), added(store, "b", delay=60)):
        assert not store.give_back(lifecycle.entry_of(seen), GivenBack(LATER, failed=True))
        assert store.end(seen, LATER) == seen == store.get(seen.key)


def test_returning_a_job_that_is_not_there_creates_none(store):
    job = replace(new("a"), state=JobState.BUSY, session="s", claim="c", claimed_us=NOW)

    assert not store.give_back(lifecycle.entry_of(job), GivenBack(LATER))
    assert store.get(job.key) is None


def test_the_index_has_all_that_an_entry_needs(store):
    job = taken(store)
    item = items.job_item(job)
    row = {name: item[name] for name in ("pk", "sk", "ix", *JOB_ATTRIBUTES)}

    assert items.entry_of(row, PART) == lifecycle.entry_of(job) == store.outstanding(PART, LATER)[0]


def test_claims_are_found_by_their_session(store):
    for i in range(3):
        added(store, f"j{i}", NOW + i)
    jobs = [store.claim(head(store), f"s{i % 2}", f"c{i}", LATER + i) for i in range(3)]

    assert [entry.claim for entry in store.claims_of(PART, "s0")] == ["c0", "c2"]
    assert store.claims_of(PART, "s") == []
    assert list(store.outstanding(PART, LATER)) == [lifecycle.entry_of(jobs[i]) for i in (0, 2, 1)]
