"""A job is added once a key, claimed once, returned by its claim alone, and read as it was stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.aws.dynamodb.meter import Meter
from fanin.names import JOB_ATTRIBUTES
from fanin.queue.dynamodb import items
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.lifecycle import ClaimStatus
from fanin.queue.rules.model import (
    EarlierJob,
    GivenBack,
    JobState,
    Rerun,
    digest_of,
)
from tests.contract.queue.calls import (
    LATER,
    NOW,
    OTHER,
    PART,
    QUEUE,
    added,
    done_job,
    head,
    new,
    taken,
    taken_again,
)
from tests.item_ids import item_named


def test_the_first_config_of_a_queue_stays(store):
    created = [store.create(QUEUE, QueueConfig(4)), store.create(QUEUE, QueueConfig(8))]

    assert store.config(OTHER) is None
    assert [*created, store.create(OTHER, QueueConfig(8))] == [QueueConfig(4), QueueConfig(4), QueueConfig(8)]
    assert [store.config(QUEUE), store.config(OTHER)] == [QueueConfig(4), QueueConfig(8)]


@pytest.mark.parametrize(
    "phase", [{}, {"idle_us": NOW}, {"idle_us": NOW, "asleep_us": NOW + 1}, {"metrics": True}]
)
@pytest.mark.parametrize("removal", [{}, {"removing_us": NOW}, {"removing_us": NOW, "removed_us": NOW + 1}])
def test_a_config_is_read_as_it_was_written(store, phase, removal):
    config = QueueConfig(4, **phase, **removal)

    assert store.create(QUEUE, config) == store.config(QUEUE) == config


@pytest.mark.parametrize(
    "more", [{}, {"priority": 7, "delay": 1.5, "item_id": item_named("i"), "payload": None}]
)
@pytest.mark.parametrize("name", ["a", "käy 🎈", "x" * 600])
def test_a_job_is_read_as_it_was_stored(store, name, more):
    job = added(store, name, **more)

    assert store.get(job.key) == job


def test_a_job_that_is_not_there_is_none(store):
    key = job_key(QUEUE, 1, "a")

    assert store.get(key) is None
    assert store.add(new("a"), over=new("a")) is None
    assert store.get(key) is None


@pytest.mark.parametrize("state", ["ready", "busy", "delayed"])
def test_a_live_job_refuses_another_of_its_key_and_is_shown(store, state):
    job = taken(store) if state == "busy" else added(store, delay=5 if state == "delayed" else 0)

    assert store.add(new("a", LATER), None) == job
    assert store.get(job.key).state == state


def test_a_done_job_leaves_a_mark_over_which_the_next_is_added(store):
    mark = done_job(store)

    assert (mark.state, mark.done_by, mark.done_us, mark.payload) == (JobState.DONE, "c1", LATER, None)
    assert store.get(mark.key) == mark
    assert store.add(new("a", LATER), None) == mark
    after = new("a", LATER, over=mark)

    assert store.add(after, mark) == after
    assert (after.generation, after.done_by) == (2, "c1")


def test_a_late_copy_of_an_add_finds_the_mark_and_adds_nothing(store):
    first = new("a")
    mark = done_job(store)

    assert store.add(first, None) == mark
    second = new("a", LATER, over=mark)
    store.add(second, mark)
    store.end(store.claim(head(store), "s1", "c2", LATER), LATER)

    assert store.add(second, mark).state is JobState.DONE


def test_ready_jobs_come_by_priority_then_by_time_and_only_so_many(store):
    for name, at, priority in (("a", 3, 0), ("b", 2, 0), ("c", 9, 5), ("d", 1, 0), ("e", 8, 5)):
        added(store, name, NOW + at, priority=priority)
    taken_one = store.claim(head(store), "s1", "c1", LATER)

    assert taken_one.name == "e"
    assert [store.get(entry.key).name for entry in store.ready(PART, 3)] == ["c", "d", "b"]
    assert [job.name for job in store.jobs(PART, JobState.READY, 10)] == ["c", "d", "b", "a"]


def test_many_ready_jobs_are_read_over_all_pages(store):
    for i in range(130):
        added(store, f"{i:03d}", NOW + i, payload="x" * 9_000)

    assert [job.name for job in store.jobs(PART, JobState.READY, 200)] == [f"{i:03d}" for i in range(130)]
    assert store.count(PART, JobState.READY, 1000) == 130
    assert len(store.jobs(PART, JobState.READY, 7)) == 7


@pytest.mark.parametrize("store", ["dynamodb"], indirect=True)
def test_a_count_reads_no_more_than_its_limit_at_half_the_price(store):
    for i in range(40):
        added(store, f"{i:02d}", NOW + i, payload="x" * 9_000)
    meter = Meter().attach(store.client)

    assert (store.count(PART, JobState.READY, 20), meter.take("read_units")) == (20, 0.5)


def test_collisions_are_counted_on_the_live_job_alone(store):
    job = taken(store)
    store.collide(job)
    for other in ("a", "another", "z"):
        store.collide(replace(job, id=other))

    assert store.get(job.key).collisions == 1
    mark = store.end(job, LATER)
    store.collide(job)

    assert mark.collisions == store.get(job.key).collisions == 1


def test_a_rerun_requested_while_busy_follows_the_end(store):
    job = taken(store)
    rerun = Rerun("id-2", LATER, 5, "new", "item")

    assert store.rerun(job, rerun).rerun == rerun
    asked = store.get(job.key)

    assert lifecycle.claim_status(store.end(job, LATER), job) is ClaimStatus.HELD
    after = store.end(asked, LATER + 1)

    assert after == store.get(job.key)
    assert (after.id, after.state, after.payload, after.item_id) == ("id-2", JobState.READY, "new", "item")
    assert (after.priority, after.generation, after.done_by, after.deliveries) == (5, 2, "c1", 0)
    assert lifecycle.claim_status(store.end(job, LATER), job) is ClaimStatus.ENDED


def test_a_newer_request_replaces_the_rerun_and_an_older_one_does_not(store):
    job = taken(store)
    first, second = Rerun("id-2", LATER, 0, "first"), Rerun("id-3", LATER, 0)
    asked = store.rerun(job, first)

    assert store.rerun(job, second).rerun == first
    assert store.rerun(asked, second).rerun == second
    assert store.rerun(asked, first).rerun == second
    assert store.get(job.key).rerun == second


@pytest.mark.parametrize("payload", [None, "new"])
@pytest.mark.parametrize("item", [None, item_named("i")])
def test_a_rerun_that_is_replaced_is_an_earlier_job_and_leaves_its_item(store, payload, item):
    first, second = Rerun("id-2", LATER, 0, payload, item), Rerun("id-3", LATER + 1, 0, payload)
    job = taken(store)
    asked = store.rerun(job, first)
    again = store.rerun(asked, second)

    assert (asked.rerun, asked.before) == (first, ())
    assert again.rerun == replace(second, item_id=item)
    assert again.before == (EarlierJob(digest_of("id-2"), LATER + 1),)
    assert store.get(again.key) == again
    earlier = store.end(again, LATER + 2).before
    assert [each.digest for each in earlier] == [digest_of(job.id), digest_of("id-2")]


def test_a_rerun_requested_before_a_job_died_is_not_stored_once_it_is_revived(store):
    dead, again = taken_again(store)
    before = dead.job

    assert (again.id, again.state) == (before.id, JobState.BUSY)
    assert store.rerun(before, Rerun("id-2", LATER, 0)) == again
    assert store.get(again.key).rerun is None
    assert store.rerun(again, Rerun("id-2", LATER, 0)).rerun is not None


def test_a_job_that_failed_keeps_its_rerun(store):
    job = taken(store)
    asked = store.rerun(job, Rerun("id-2", LATER, 0))
    store.give_back(lifecycle.entry_of(asked), GivenBack(LATER, failed=True))

    assert store.get(job.key).rerun == asked.rerun


def test_a_claim_makes_the_job_busy_and_counts_it(store):
    job = taken(store)

    assert (job.state, job.session, job.claim, job.claimed_us) == (JobState.BUSY, "s1", "c1", LATER)
    assert (job.deliveries, job.queued_us, job.payload) == (1, LATER - NOW, '"{}"')
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
