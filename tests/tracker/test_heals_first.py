"""A request that acks the last items of a batch and heals a failed one: the heal counts."""

from __future__ import annotations

from fanin.tracker import Ack, PageMasks
from tests.tracker.calls import ack, fail, opened


def one_outstanding(tracker, **options):
    """A closed batch of three pages: item 8 has failed, item 0 is outstanding, all others are done."""
    batch_id, group = opened(tracker, 12, **options)
    tracker.close("t", batch_id, "closer")
    fail(tracker, batch_id, group, 8)
    ack(tracker, batch_id, group, *(item for item in range(12) if item not in (0, 8)))
    return batch_id, group


def test_folded_acks_heal_first(tracker):
    batch_id, _ = one_outstanding(tracker)
    done = tracker.ack_pages("t", batch_id, {0: PageMasks(0b1), 2: PageMasks(0b1)}, "bulk")

    assert [(page.written, page.healed) for page in done] == [(1, 0), (0, 1)]
    assert tracker.get("t", batch_id).result == "succeeded"


def test_the_ends_of_two_children_in_one_request_heal_the_parent_first(tracker):
    """The second child of item 8, which its first one failed, succeeds beside the child of the last item."""
    parent, group = one_outstanding(tracker)
    children = [opened(tracker, 1, parent_item_id=f"{parent}:{group}:{item}") for item in (0, 8)]
    for child, _ in children:
        tracker.close("t", child, "closer")
    tracker.ack("t", [Ack(child, items, 0, 0, "me") for child, items in children])

    assert tracker.get("t", parent).result == "succeeded"
