"""The items of an ended batch are opened again as a new batch, item by item, up to their bounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import BatchEnded, Conflict, KeyReused, NotFound
from fanin.tracker import Ack, ItemRange, OpenBatch, State, Tracker, Verdict
from fanin.tracker.batch_changes import reopening
from fanin.tracker.batch_changes.reopening import ReopenBatch, ReopenItems, check_origin
from fanin.tracker.rules.page import Page
from tests.tracker.calls import DAY, HOUR, ack, fail, opened, verdicts
from tests.tracker.metered import Metered
from tests.tracker.stored import BATCH, ID

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


def stale_beside(tracker, batch_id):
    """A tracker that read the batch before its end, and does not read it again."""
    stale = replace(tracker, fresh_for=DAY, _known={})
    stale._remember(replace(tracker.get("t", batch_id), state=State.OPEN))
    return stale


def test_unfinished_items_are_those_of_the_time_of_the_request(tracker):
    """A consumer that read the batch before its end may still ack an outstanding item of it."""
    origin, group = ended(tracker, 12, failed=(1, 5), acked=(0, 2, 3, 6, 7, 8))
    batch = reopen(tracker, origin, items=UNFINISHED)
    ack(stale_beside(tracker, origin), origin, group, 4)

    assert verdicts(ack(tracker, origin, group, 4)) == [Verdict.DUPLICATE]
    assert batch.total == 6
    assert indexes(tracker, batch) == indexes(tracker, batch, limit=2) == [1, 4, 5, 9, 10, 11]


@pytest.mark.parametrize(
    ("succeeded", "items", "healed"), [(20, "failed", True), (19, "failed", False), (19, "unfinished", True)]
)
def test_the_success_of_all_that_was_not_done_heals_the_item_of_the_parent(tracker, succeeded, items, healed):
    parent, group = opened(tracker, 2)
    acked = [at for at in range(succeeded) if at != 3]
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


MOST = 2**36
ENDED = replace(BATCH, state=State.CANCELLED)
COMPLETE = replace(BATCH, state=State.COMPLETE, total=1)
RANGES = 5_000


def of(page_bits):
    return Tracker(Metered(), page_bits=page_bits, fresh_for=timedelta(0), pause=lambda _: None)


def scattered(tracker, ranges):
    """A cancelled batch of twice as many items, every other one of which is outstanding."""
    batch_id, group = opened(tracker, 2 * ranges)
    tracker.ack("t", [Ack(batch_id, group, at, at, "me") for at in range(1, 2 * ranges, 2)])
    tracker.cancel("t", batch_id)
    tracker.store.reset()
    return batch_id


def test_one_range_more_is_refused_by_the_walk_that_finds_it():
    tracker = of(1024)
    origin = scattered(tracker, RANGES + 1)

    with pytest.raises(Conflict, match="too many ranges or pages"):
        reopen(tracker, origin, items=UNFINISHED)
    assert len(tracker.store.read) <= 100


def untouched(tracker, leaves):
    batch_id, _ = opened(tracker, leaves * tracker.page_bits)
    tracker.cancel("t", batch_id)
    return batch_id


@pytest.mark.parametrize("leaves", [1, 10**6])
def test_what_is_untouched_is_reopened_whatever_its_size(leaves):
    tracker = of(1024)
    reopened = reopen(tracker, untouched(tracker, leaves), items=UNFINISHED)

    assert reopened.total == leaves * 1024
    assert len(tracker.store.read) <= 4 * 1024


@pytest.mark.parametrize("count", [1, MOST])
def test_up_to_2_to_the_36_items_are_reopened(count):
    check_origin(ENDED, count, "failed")


@pytest.mark.parametrize(
    ("origin", "count", "text"),
    [
        (BATCH, 1, f"batch {ID} has not ended; wait for its end, or cancel it"),
        (replace(ENDED, total=0), 0, f"batch {ID} has no failed items; there is nothing to reopen"),
        (COMPLETE, 0, f"batch {ID} has no failed items; there is nothing to reopen"),
        (
            replace(ENDED, total=1),
            0,
            f"batch {ID} has no failed items; to reopen what is not acked, ask for the items 'unfinished' in"
            " place of 'failed'",
        ),
        (ENDED, MOST + 1, f"{MOST + 1} items are more than one batch can reopen, which is {MOST}"),
    ],
    ids=["live", "none", "all done", "outstanding", "too many"],
)
def test_other_origins_are_refused(origin, count, text):
    with pytest.raises(Conflict) as caught:
        check_origin(origin, count, "failed")

    assert str(caught.value) == text


@pytest.mark.parametrize(("succeeded", "is_child"), [(range(1, 1200), False), (range(1200), True)])
def test_a_batch_of_the_failed_items_has_the_parent_where_nothing_is_outstanding(
    tracker, succeeded, is_child
):
    parent, group = opened(tracker, 1)
    origin, items = opened(tracker, 1200, parent_item_id=f"{parent}:{group}:0")
    fail(tracker, origin, items, 1)
    ack(tracker, origin, items, *(at for at in succeeded if at != 1))
    tracker.cancel("t", origin)

    assert (reopen(tracker, origin).parent_item_id is not None) is is_child


def test_it_has_no_parent_where_one_walk_does_not_reach_the_outstanding_items(tracker):
    """A crash left full pages that are not marked in the pages above them, so each of them is read."""
    parent, group = opened(tracker, 1)
    origin, items = opened(tracker, 1200, parent_item_id=f"{parent}:{group}:0")
    fail(tracker, origin, items, 1)
    ack(tracker, origin, items, 0, *range(2, 1199))
    tracker.cancel("t", origin)
    for key in [key for key in tracker.store.stored_pages if not key.is_leaf]:
        tracker.store.stored_pages[key] = Page()

    assert reopen(tracker, origin).parent_item_id is None


@pytest.mark.parametrize(
    ("options", "digest"),
    [
        ({}, "0aec2fede5287d76592a82c05b719731b6aa06f72acc57b85c4aa8a7ef723452"),
        (
            {"items": UNFINISHED, "labels": {"a": "b"}, "deadline": HOUR, "max_failures": 3},
            "9e5dafca50a4cc7d7aa468965f2b00724490458cbfcc91a47c6526774cca0b18",
        ),
    ],
)
def test_the_fingerprint_of_a_request_stays_the_same(options, digest):
    assert ReopenBatch(origin_batch_id=ID, **options).fingerprint == digest


def test_failed_items_of_an_origin_with_more_items_than_a_batch_reopens_can_be_reopened():
    tracker = of(1024)
    batch_id, group = opened(tracker, MOST)
    tracker.add("t", batch_id, 1, "more")
    fail(tracker, batch_id, group, 0)
    tracker.cancel("t", batch_id)

    assert reopen(tracker, batch_id).total == 1


@pytest.mark.parametrize(("failed", "accepted"), [((0, 2), True), ((0, 2, 4), False)])
def test_half_of_the_ranges_of_a_new_batch_may_have_failed(tracker, monkeypatch, failed, accepted):
    monkeypatch.setattr(reopening, "RANGES_A_REOPEN", 4)
    origin, _ = ended(tracker, 6, failed=failed, acked={0, 1, 2, 3, 4, 5} - set(failed))
    if accepted:
        assert reopen(tracker, origin, items=UNFINISHED).total == len(failed)
        return
    with pytest.raises(Conflict, match="too many ranges"):
        reopen(tracker, origin, items=UNFINISHED)
