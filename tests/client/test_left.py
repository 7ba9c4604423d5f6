"""What is left of a range of items, as consumers ask for it, over each transport."""

from __future__ import annotations

import pytest

from fanin import Fanin
from fanin.client.batch import Batch
from fanin.client.items import Items, merged
from fanin.tracker import Tracker, Verdict


def left(fanin, items, failed=False):
    """Indexes that are left of the *items*."""
    first, last = items.indexes[0], items.indexes[-1]
    found = fanin._transport.left(items.batch_id, items.group_id, first, last, failed)
    return [(part.indexes[0], part.indexes[-1]) for part in found]


def test_ranges_that_touch_become_one(fanin):
    items = fanin.open().add(30)
    whole = Items.between(items.batch_id, items.group_id, 4, 9)

    assert merged(items[7:10], items[4:7], items[20:21]) == (whole, items[20:21])
    assert merged() == ()


QUARTER, DONE = 2_500_000, 100_000
STARTS = range(0, 4 * QUARTER, QUARTER)
FAILED = [(start + 1, start + 3) for start in STARTS]


@pytest.fixture
def batch(fanin: Fanin, tracker: Tracker) -> Batch:
    """A batch that is done at four places, with some failures at each, and has pages of the usual size."""
    tracker.page_bits = 1024
    batch = fanin.open()
    items = batch.add(4 * QUARTER)
    fanin.fail_ranges([items[first : last + 1] for first, last in FAILED])
    fanin.ack_ranges(
        [part for start in STARTS for part in (items[start : start + 1], items[start + 4 : start + DONE])]
    )
    return batch


COUNT = 150_000


@pytest.mark.parametrize("call", ["ack", "fail"])
def test_items_of_an_add_are_sent_as_ranges(fanin, tracker, call):
    tracker.page_bits = 1024
    batch = fanin.open()
    report = getattr(fanin, call)(batch.add(COUNT))

    ranges = [(each.first, each.last, dict(each.counts)) for each in report.ranges]
    assert ranges == [
        (0, 99_999, {Verdict.ACCEPTED: 100_000}),
        (100_000, COUNT - 1, {Verdict.ACCEPTED: 50_000}),
    ]
    assert report.results == ()
    status = batch.status()
    assert (status.acked, status.failed) == (COUNT, COUNT if call == "fail" else 0)
