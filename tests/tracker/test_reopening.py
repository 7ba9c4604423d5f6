"""The failed items of an ended batch are opened again as a new batch, item by item."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import BatchEnded, Conflict, KeyReused, NotFound, QuotaExceeded
from fanin.tracker import ItemRange, Mode, OpenBatch, State, Verdict
from fanin.tracker.writing import reopening
from fanin.tracker.writing.reopening import ReopenBatch, ReopenItems
from tests.tracker.calls import DAY, HOUR, ack, fail, opened, verdicts

UNFINISHED = ReopenItems.UNFINISHED


def ended(tracker, count=20, failed=(3, 4, 9, 17), acked=(), **options):
    """A cancelled batch of *count* items, some of which failed; its id, and that of its group."""
    batch_id, group = opened(tracker, count, **options)
    fail(tracker, batch_id, group, *failed)
    ack(tracker, batch_id, group, *acked)
    tracker.cancel("t", batch_id)
    return batch_id, group


def reopen(tracker, origin, key="again", **options):
    return tracker.reopen("t", ReopenBatch(origin_batch_id=origin, **options), "me", key)


def indexes(tracker, batch, limit=1000):
    """The indexes of the origin's items, read in parts of *limit* ranges, each at its rank."""
    found, at = [], (0, 0)
    while at is not None:
        part = tracker.origin(batch, at, limit)
        assert part.rank == len(found)
        found += [index for items in part.ranges for index in range(items.first, items.last + 1)]
        at = part.resume
    return found


def test_one_key_opens_one_batch_also_after_its_origin_is_gone(tracker, clock):
    origin, _ = ended(tracker)
    first = reopen(tracker, origin)
    clock.at += 8 * DAY
    with pytest.raises(NotFound):
        tracker.get("t", origin)

    assert reopen(tracker, origin).batch_id == first.batch_id
    with pytest.raises(NotFound):
        reopen(tracker, origin, key="another")


def test_the_options_are_those_of_the_origin_unless_given(tracker, clock):
    options = {
        "user_key": "k",
        "labels": {"a": "b"},
        "deadline": HOUR,
        "max_failures": 9,
        "expected_items": 2,
    }
    origin, _ = ended(tracker, **options)
    same = reopen(tracker, origin)
    other = reopen(
        tracker, origin, "other", user_key="o", labels={"c": "d"}, deadline=2 * HOUR, max_failures=1
    )

    assert (same.user_key, same.labels, same.max_failures) == ("k", {"a": "b"}, 9)
    assert (same.deadline_at, same.expected_items) == (clock.at + HOUR, None)
    assert (other.user_key, other.labels, other.max_failures) == ("o", {"c": "d"}, 1)
    assert other.deadline_at == clock.at + 2 * HOUR


def test_what_cannot_be_reopened_is_refused(tracker):
    live, _ = opened(tracker, 3)
    done, group = opened(tracker, 1)
    tracker.close("t", done, "c")
    ack(tracker, done, group, 0)
    counted, _ = opened(tracker, 3, mode=Mode.ESTIMATED)
    tracker.cancel("t", counted)

    for batch_id, detail in ((live, "not ended"), (done, "no failed items"), (counted, "estimated")):
        with pytest.raises(Conflict, match=detail):
            reopen(tracker, batch_id, key=batch_id)
    with pytest.raises(Conflict, match="no unfinished items"):
        reopen(tracker, done, key="all", items=UNFINISHED)
    with pytest.raises(NotFound):
        tracker.reopen("other", ReopenBatch(origin_batch_id=done), "me", "k")


def stale_beside(tracker, batch_id):
    """A tracker that read the batch before its end, and does not read it again."""
    stale = replace(tracker, fresh_for=DAY, _known={})
    stale._remember(replace(tracker.get("t", batch_id), state=State.OPEN))
    return stale


def test_the_failed_items_of_an_ended_batch_stay_the_same(tracker):
    """Their count is on the row, and a delayed ack can neither heal one nor add one."""
    origin, group = ended(tracker)
    batch = reopen(tracker, origin)
    stale = stale_beside(tracker, origin)
    ack(stale, origin, group, 3, 4, 5)
    fail(stale, origin, group, 6, 7)

    assert tracker.get("t", origin).failed == 4
    assert indexes(tracker, batch) == [3, 4, 9, 17]


def test_unfinished_items_are_those_of_the_time_of_the_request(tracker):
    """A consumer that read the batch before its end may still ack an outstanding item of it."""
    origin, group = ended(tracker, 12, failed=(1, 5), acked=(0, 2, 3, 6, 7, 8))
    batch = reopen(tracker, origin, items=UNFINISHED)
    ack(stale_beside(tracker, origin), origin, group, 4)

    assert verdicts(ack(tracker, origin, group, 4)) == [Verdict.DUPLICATE]
    assert batch.total == 6
    assert indexes(tracker, batch) == indexes(tracker, batch, limit=2) == [1, 4, 5, 9, 10, 11]


@pytest.mark.parametrize(
    ("done", "items", "healed"), [(20, "failed", True), (19, "failed", False), (19, "unfinished", True)]
)
def test_the_success_of_all_that_was_not_done_heals_the_item_of_the_parent(tracker, done, items, healed):
    parent, group = opened(tracker, 2)
    acked = [at for at in range(done) if at != 3]
    origin, _ = ended(tracker, failed=(3,), acked=acked, parent_item_id=f"{parent}:{group}:0")
    assert tracker.get("t", parent).failed == 1
    batch = reopen(tracker, origin, items=ReopenItems(items))
    ack(tracker, batch.batch_id, reopening.whole_group(batch).id, *range(batch.total))

    assert tracker.get("t", batch.batch_id).result == "succeeded"
    assert tracker.get("t", parent).failed == (0 if healed else 1)


def test_the_key_of_a_reopened_batch_that_has_ended_opens_no_other(tracker):
    origin, _ = ended(tracker)
    batch = reopen(tracker, origin)
    tracker.cancel("t", batch.batch_id)

    with pytest.raises(BatchEnded, match=f"batch {batch.batch_id} is CANCELLED"):
        reopen(tracker, origin)


def test_a_reopened_batch_over_the_quota_is_not_stored(tracker):
    def refuse(tenant, batch_id):
        raise QuotaExceeded("too many batches", quota="batches", limit=1, used=1)

    origin, _ = ended(tracker)
    with pytest.raises(QuotaExceeded):
        reopen(replace(tracker, admit=refuse), origin)

    assert [key.batch_id for key in tracker.store.batches] == [origin]


def test_failed_items_beside_outstanding_ones_are_one_range(tracker):
    origin, group = ended(tracker, 12, failed=(2, 3, 5, 6), acked=(4, 9, 10, 11))
    batch = reopen(tracker, origin, items=UNFINISHED)

    assert tracker.origin(batch).ranges == (ItemRange(group, 0, 3), ItemRange(group, 5, 8))


OTHERS = [
    ("again", {"items": UNFINISHED}, "with other options"),
    ("again", {"max_failures": 2}, "with other options"),
    ("open", {}, "to open batch"),
]


@pytest.mark.parametrize(("key", "options", "use"), OTHERS)
def test_a_key_of_another_request_is_refused_with_its_use(tracker, key, options, use):
    origin, _ = ended(tracker)
    reopen(tracker, origin)
    tracker.open("t", OpenBatch(), key="open")

    with pytest.raises(KeyReused, match=use):
        reopen(tracker, origin, key=key, **options)
    with pytest.raises(KeyReused, match="it reopens batch"):
        tracker.open("t", OpenBatch(), key="again")


def test_each_batch_has_a_salt_of_128_bits(tracker):
    origin, _ = ended(tracker)

    assert len(reopen(tracker, origin).salt) == len(tracker.get("t", origin).salt) == 16
