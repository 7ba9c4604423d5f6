"""The range of a window at its bounds, and what its refusal says."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest
from fanin.tracker import ItemRange
from fanin.tracker.reads.window import Window
from tests.tracker.calls import ack, opened


def window(tracker, count, first, last):
    """A window of a group of *count* items, and the id of the group."""
    batch_id, group = opened(tracker, count)
    return tracker.window(tracker.get("t", batch_id), group, first, last), group


@pytest.mark.parametrize("first", [0, 7, 10_000])
def test_a_window_has_up_to_ten_thousand_items(tracker, first):
    found, group = window(tracker, 20_000, first, first + 9_999)
    assert found.ranges(found.outstanding) == (ItemRange(group, first, first + 9_999),)

    with pytest.raises(InvalidRequest) as caught:
        window(tracker, 20_001, first, first + 10_000)
    assert (str(caught.value), caught.value.field) == ("a window has at most 10000 items", "to")


@pytest.mark.parametrize("first", [0, 9])
def test_a_window_ends_with_the_last_item_of_its_group(tracker, first):
    found, group = window(tracker, 10, first, 9)
    assert found.ranges(found.outstanding) == (ItemRange(group, first, 9),)

    with pytest.raises(InvalidRequest) as caught:
        window(tracker, 10, first, 10)
    assert (str(caught.value), caught.value.field) == ("the group has the items 0 to 9", "to")


def test_a_window_without_masks_is_one_whose_items_all_succeeded(tracker):
    batch_id, group = opened(tracker, 10)
    ack(tracker, batch_id, group, *range(2, 8))
    found = tracker.window(tracker.get("t", batch_id), group, 2, 7)

    assert found == Window(group, 2)
    assert (found.ranges(found.outstanding), found.ranges(found.failed)) == ((), ())
