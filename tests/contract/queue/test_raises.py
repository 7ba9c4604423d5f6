"""What a raise of the parts asks of a store: checks of a key's other row, pages of a part, and moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.queue.dynamodb import items
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.key_rows import Check
from fanin.queue.rules.keys import JobKey, PartKey
from fanin.queue.rules.model import JobState
from tests.contract.queue.calls import (
    LATER,
    PART,
    QUEUE,
    added,
    death_of,
    done_job,
    drop_mark,
    head,
    new,
    taken,
)
from tests.item_ids import item_named

NEXT = PartKey(QUEUE, 1)
HERE, THERE = JobKey(PART, "k#a"), JobKey(NEXT, "k#a")


def there(over=None, at: int = LATER, **more):
    """The job *a* at its new part."""
    return replace(new("a", at, over, **more), key=THERE)


def test_a_raise_is_read_as_it_was_stored(store):
    first = QueueConfig(8, 1, before=4, phase=Phase.PREPARING)
    assert store.reconfigure(QUEUE, first) is store.config(QUEUE) is None
    store.create(QUEUE, QueueConfig(4))
    second = replace(first, revision=2, phase=Phase.DRAINING, since_us=LATER, cursor="0001#k#a")

    for config in (first, second, QueueConfig(8, 3)):
        assert store.reconfigure(QUEUE, config) == config
        assert store.config(QUEUE) == config


def test_an_add_is_stored_where_the_other_row_holds_nothing(store):
    job = there()

    assert store.add(job, None, Check(HERE, None)) == job
    assert store.add(job, None, Check(HERE, None)) == job
    assert store.get(THERE) == job


def test_an_add_is_stored_where_the_other_row_holds_the_mark_that_was_seen(store):
    mark, job = done_job(store), there()

    assert store.add(job, None, Check(HERE, mark)) == job


@pytest.mark.parametrize("state", [JobState.READY, JobState.BUSY, JobState.DELAYED])
def test_a_live_job_in_the_other_row_refuses_an_add(store, state):
    job = taken(store) if state is JobState.BUSY else added(store, delay=5 * (state is JobState.DELAYED))

    assert store.add(there(), None, Check(HERE, None)) is None
    assert store.add(there(), None, Check(HERE, job)) is None
    assert (store.get(THERE), store.get(HERE)) == (None, job)


def test_an_add_is_refused_where_the_other_row_has_had_a_job_since_it_was_seen(store):
    mark = done_job(store)
    store.add(new("a", LATER, over=mark), mark)
    store.end(store.claim(head(store), "s", "c2", LATER), LATER)

    assert store.add(there(), None, Check(HERE, mark)) is None
    assert store.add(there(), None, Check(HERE, None)) is None
    assert store.get(THERE) is None


def test_an_add_over_a_mark_compares_both_rows(store):
    old = done_job(store)
    first = there()
    store.add(first, None, Check(HERE, old))
    mark = store.end(store.claim(store.ready(NEXT, 1)[0], "s", "c3", LATER), LATER)
    second = there(over=mark)

    assert store.add(second, None, Check(HERE, old)) == mark
    assert store.add(second, mark, Check(HERE, replace(old, generation=9))) == mark
    assert store.add(second, mark, Check(HERE, old)) == second


def test_a_dead_job_comes_back_at_its_new_part_unless_the_old_one_holds_a_job(store):
    dead, mark = death_of(store, taken(store))
    back = replace(lifecycle.revived(dead, LATER, None, "request"), key=THERE)
    other = new("a", LATER, over=mark)
    store.add(other, mark)

    assert store.revive(dead, back, None, Check(HERE, mark)) is None
    assert store.dead(PART, 10) == [dead]
    ended = store.end(store.claim(head(store), "s", "c4", LATER), LATER)

    assert store.revive(dead, back, None, Check(HERE, ended)) == back == store.get(THERE)
    assert store.dead(PART, 10) == []


def test_the_rows_of_a_part_are_read_in_pages_by_their_keys(store):
    marks = [done_job(store, name=name, claim=f"claim of {name}") for name in ("b", "d")]
    jobs = [added(store, name) for name in ("c", "a", "e")]
    rows = sorted([*marks, *jobs], key=lambda job: job.key.sort)
    found, after, pages = [], "", 0
    while after is not None:
        page, after = store.page(PART, after, 2)
        found, pages = [*found, *page], pages + 1

    assert found == rows
    assert pages <= 4
    assert store.page(NEXT, "", 2) == ([], None)
    assert store.page(PART, rows[2].key.sort, 9)[0] == rows[3:]


@pytest.mark.parametrize("delay", [0, 5], ids=["ready", "delayed"])
def test_a_waiting_job_is_moved_and_leaves_a_mark(store, delay):
    job = added(store, delay=delay, priority=3, item_id=item_named("i"))
    moved = lifecycle.moved(job, THERE, None)

    assert store.move(job, moved, None, LATER)
    assert store.get(THERE) == moved == replace(job, key=THERE)
    mark = store.get(HERE)
    assert (mark.state, mark.id, mark.payload, mark.done_us) == (JobState.DONE, job.id, None, LATER)
    assert [store.jobs(part, job.state, 9) for part in (PART, NEXT)] == [[], [moved]]
    assert not store.move(job, moved, None, LATER)
    assert store.get(THERE) == moved


def test_the_mark_of_a_moved_job_expires_after_an_hour(store):
    job = added(store)
    store.move(job, lifecycle.moved(job, THERE, None), None, LATER)

    assert store.get(HERE).expired(LATER + 3_600_000_000)
    if hasattr(store, "table"):
        row = store.client.get_item(TableName=store.table, Key=items.job_row(HERE))["Item"]
        assert row["ttl"] == {"N": str(LATER // 1_000_000 + 3600)}


def test_a_job_is_moved_over_the_mark_that_was_seen(store):
    old = done_job(store)
    store.add(there(), None, Check(HERE, old))
    mark = store.end(store.claim(store.ready(NEXT, 1)[0], "s", "c3", LATER), LATER)
    job = new("a", LATER, over=old)
    store.add(job, old)
    moved = lifecycle.moved(job, THERE, mark)

    assert not store.move(job, lifecycle.moved(job, THERE, None), None, LATER)
    assert store.get(HERE) == job
    assert store.move(job, moved, mark, LATER)
    assert store.get(THERE) == moved
    assert (moved.generation, moved.done_by) == (2, "c3")


def test_a_claim_of_a_job_that_was_moved_since_it_was_seen_finds_none(store):
    job = added(store)
    seen = head(store)
    store.move(job, lifecycle.moved(job, THERE, None), None, LATER)

    assert store.claim(seen, "s", "c1", LATER) is None
    assert store.claim(store.ready(NEXT, 1)[0], "s", "c1", LATER).claim == "c1"


def test_the_end_of_a_claim_before_the_move_is_a_lost_claim(store):
    busy = taken(store)
    store.give_back(lifecycle.entry_of(busy), lifecycle.GivenBack(LATER))
    job = store.get(HERE)
    store.move(job, lifecycle.moved(job, THERE, None), None, LATER)

    status = lifecycle.claim_status(store.end(busy, LATER), busy)
    assert status is lifecycle.ClaimStatus.LOST
    assert store.get(THERE).state is JobState.READY


def test_no_job_is_moved_where_nothing_is_stored(store):
    job = new("a")

    assert not store.move(job, lifecycle.moved(job, THERE, None), None, LATER)
    assert (store.get(HERE), store.get(THERE)) == (None, None)
    mark = done_job(store)
    drop_mark(store, mark.key)
    assert store.add(there(), None, Check(HERE, mark)) is None
