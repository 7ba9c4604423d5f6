"""A job is removed or deleted as it was seen: its items fail with a reason; late copies change nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.queue.dynamodb import items
from fanin.queue.rules import lifecycle
from fanin.queue.rules.model import GivenBack, JobState, Rerun
from tests.contract.queue.calls import (
    LATER,
    NOW,
    OTHER,
    PART,
    added,
    death_of,
    done_job,
    drop_mark,
    head,
    new,
    taken,
)
from tests.item_ids import item_named


def live_and_done(store):
    """A ready job, a busy one, a delayed one, and the mark of a done one."""
    taken(store, name="busy", priority=9)
    mark = done_job(store, name="done", claim="c2", priority=8)
    return added(store, "ready"), added(store, "delayed", delay=60), mark


def test_the_first_jobs_of_a_part_are_the_live_ones_in_the_order_of_the_index(store):
    live_and_done(store)
    states = [entry.state for entry in store.first(PART, 10)]

    assert states == [JobState.READY, JobState.BUSY, JobState.DELAYED]
    assert [entry.state for entry in store.first(PART, 1)] == states[:1]
    assert store.first(PART, 10)[:1] == store.ready(PART, 10)


def test_jobs_and_dead_jobs_are_counted_up_to_a_limit(store):
    for number in range(3):
        death_of(store, taken(store, f"c{number}", name=f"dead {number}"))
    for number in range(5):
        added(store, f"job {number}", NOW + number)

    assert [store.count(PART, JobState.READY, limit) for limit in (1, 4, 5, 6)] == [1, 4, 5, 5]
    assert [store.count_dead(PART, limit) for limit in (1, 3, 4)] == [1, 3, 3]


def test_the_rows_of_a_part_are_its_live_jobs_and_marks(store):
    live_and_done(store)

    assert {job.name for job in store.page(PART, "", 10)[0]} == {"busy", "ready", "delayed", "done"}
    assert len(store.page(PART, "", 3)[0]) == 3
    assert list(store.page(replace(PART, queue=OTHER), "", 10)[0]) == []


def test_a_job_is_removed_as_it_was_seen_and_its_items_go_to_the_outbox(store):
    job = taken(store, item_id=item_named(1))
    entries = lifecycle.removal_entries(job, "gone")

    assert store.remove(job, entries)
    assert store.get(job.key) is None
    assert list(store.outbox(PART)) == entries
    assert [(entry.item_id, entry.failed, entry.reason) for entry in entries] == [
        (item_named(1), True, "gone")
    ]


@pytest.mark.parametrize("items", [{}, {"item_id": item_named("i")}], ids=["plain", "with an item"])
def test_a_late_copy_of_a_removal_leaves_the_job_of_the_next_queue_alone(store, items):
    seen = added(store, **items)
    entries = lifecycle.removal_entries(seen, "gone")
    store.remove(seen, entries)
    again = replace(new("a", LATER, **items), id=seen.id)
    store.add(again, None)

    assert not store.remove(seen, entries)
    assert store.get(seen.key) == again


def test_a_mark_is_removed_without_a_report(store):
    mark = done_job(store, item_id=item_named("i"))
    (entry,) = store.outbox(PART)

    assert store.remove(mark, lifecycle.removal_entries(mark, "gone"))
    assert list(store.outbox(PART)) == [entry]


def test_the_record_of_a_dead_job_is_removed_and_no_other(store):
    dead, _ = death_of(store, taken(store, "c1", name="a"))
    other, _ = death_of(store, taken(store, "c2", name="b"))
    for _again in range(2):
        store.remove_dead(dead)

    assert list(store.dead(PART, 10)) == [other]


ITEMS = pytest.mark.parametrize("item", [{}, {"item_id": item_named(1)}], ids=["plain", "with an item"])
REASON = "the job was deleted"
DELETION = "deletion-1"


def entries_of(job):
    return lifecycle.removal_entries(job, REASON)


def deleted(store, job, at=LATER):
    return store.delete(job, entries_of(job), at, DELETION)


@ITEMS
@pytest.mark.parametrize("delay", [0, 60])
def test_a_waiting_job_is_deleted_and_leaves_the_mark_of_a_done_one(store, item, delay):
    job = added(store, delay=delay, **item)
    mark = deleted(store, job)

    assert mark == store.get(job.key) == lifecycle.deleted(job, LATER, DELETION)
    assert (mark.state, mark.payload, mark.ix) == (JobState.DONE, None, None)
    assert mark.done_by == DELETION
    assert list(store.first(PART, 10)) == []
    assert [(entry.item_id, entry.failed, entry.reason) for entry in store.outbox(PART)] == [
        (item_id, True, REASON) for item_id in item.values()
    ]


@ITEMS
def test_a_job_that_was_claimed_meanwhile_stays(store, item):
    seen = added(store, **item)
    claimed = store.claim(head(store), "s", "c", LATER)

    assert deleted(store, seen) == claimed == store.get(seen.key)
    assert list(store.outbox(PART)) == []


@ITEMS
def test_a_job_that_was_done_meanwhile_is_not_taken_for_a_deleted_one(store, item):
    job = taken(store, **item)
    store.give_back(lifecycle.entry_of(job), GivenBack(LATER))
    seen = store.get(job.key)
    ended = store.end(store.claim(head(store), "s", "c2", LATER), LATER)

    assert deleted(store, seen) == store.get(job.key)
    assert ended.done_by == "c2"


@ITEMS
def test_a_late_copy_of_a_deletion_leaves_the_next_job_of_the_key_alone(store, item):
    seen = added(store, **item)
    mark = deleted(store, seen)
    entries = list(store.outbox(PART))
    again = replace(new("a", LATER, mark), id=seen.id, item_id=item_named("other"))
    store.add(again, mark)

    assert deleted(store, seen) == again == store.get(seen.key)
    assert list(store.outbox(PART)) == entries


def test_a_requested_rerun_is_deleted_with_a_job_that_was_returned(store):
    busy = store.rerun(
        taken(store, item_id=item_named(1)), Rerun("again", NOW, 0, "{}", item_id=item_named(2))
    )
    store.give_back(lifecycle.entry_of(busy), GivenBack(LATER))
    seen = store.get(busy.key)
    mark = deleted(store, seen)

    assert mark == store.get(seen.key)
    assert (mark.rerun, mark.state) == (None, JobState.DONE)
    assert sorted(entry.item_id for entry in store.outbox(PART)) == [item_named(1), item_named(2)]


def test_an_ack_under_an_earlier_claim_does_not_pass_for_the_deletion(store):
    first = taken(store)
    store.give_back(lifecycle.entry_of(first), GivenBack(LATER))
    after = deleted(store, store.get(first.key))

    assert store.end(first, LATER) == after
    assert lifecycle.claim_status(after, first) is lifecycle.ClaimStatus.LOST


def test_the_mark_of_a_deleted_job_expires_after_an_hour(store):
    mark = deleted(store, added(store))

    assert mark.expired(LATER + 3_600_000_000)
    if hasattr(store, "table"):
        row = store.client.get_item(TableName=store.table, Key=items.job_row(mark.key))["Item"]
        assert row["ttl"] == {"N": str(LATER // 1_000_000 + 3600)}


def test_a_key_that_is_used_again_has_another_outbox_entry(store):
    """The ack of an item is sent under a key that follows from its entry."""
    first = added(store, item_id=item_named(1))
    drop_mark(store, deleted(store, first).key)
    second = added(store, at=LATER, item_id=item_named(2))
    deleted(store, second)

    assert first.generation == second.generation
    assert sorted(entry.item_id for entry in store.outbox(PART)) == [item_named(1), item_named(2)]


def test_the_deletion_of_a_job_that_is_gone_changes_nothing(store):
    seen = new("a")

    assert deleted(store, seen) is None
    assert list(store.outbox(PART)) == []
    mark = done_job(store)
    assert store.get(mark.key) == mark


def test_a_requested_rerun_is_removed_with_its_job(store):
    job = store.rerun(taken(store, item_id=item_named(1)), Rerun("again", NOW, 0, item_id=item_named(2)))

    assert store.remove(job, lifecycle.removal_entries(job, "gone"))
    assert sorted(entry.item_id for entry in store.outbox(PART)) == [item_named(1), item_named(2)]
