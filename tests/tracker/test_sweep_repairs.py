"""Which pages a sweep reads to repair a closed batch, and what it completes."""

from __future__ import annotations

from datetime import timedelta

from fanin.tracker import Ack, BatchKey, Mode, State, Tracker
from fanin.tracker.rules.lifecycle import CHECK_AFTER, transition
from fanin.tracker.rules.model import ESTIMATED_LEAF, PageKey
from fanin.tracker.rules.page import Page
from tests.tracker.calls import ack, fail, opened, verdicts
from tests.tracker.metered import Metered

MINUTE = timedelta(minutes=1)


def tracker_of(clock, page_bits):
    return Tracker(Metered(), page_bits=page_bits, fresh_for=timedelta(0), now=clock, pause=lambda _: None)


def swept(tracker, clock):
    """The pages that the next sweep reads, after a check that found no error."""
    clock.at += CHECK_AFTER
    tracker.store.reset()
    assert tracker.sweep().failed == 0
    return tracker.store.read


def test_a_repair_reads_5000_pages_at_most(clock):
    """A tree of pages of two: the level of 4,096 pages exceeds the limit, and no leaf is read."""
    tracker = tracker_of(clock, 2)
    batch_id, _ = opened(tracker, 2**14)
    batch = tracker.get("t", batch_id).key
    above = (PageKey(batch, level, number) for level in range(1, 14) for number in range(2 ** (13 - level)))
    tracker.store.stored_pages |= dict.fromkeys(above, Page())
    tracker.close("t", batch_id, "closer")
    read = swept(tracker, clock)

    assert len(read) == 5_000
    assert [key.number for key in read if key.level == 1] == list(range(905))
    assert tracker.get("t", batch_id).state is State.CLOSED


def test_a_full_page_above_the_leaves_of_an_estimated_batch_is_repaired(tracker, clock):
    """A crash left the root without the bit of the page, and the batch CLOSED."""
    batch_id, group = opened(tracker, 5 * ESTIMATED_LEAF, mode=Mode.ESTIMATED)
    for half in range(10):
        first = half * ESTIMATED_LEAF // 2
        tracker.ack("t", [Ack(batch_id, group, first, first + ESTIMATED_LEAF // 2 - 1, "me")])
    del tracker.store.stored_pages[PageKey(BatchKey("t", batch_id), 2, 0)]
    seen = tracker.get("t", batch_id)
    tracker.store.transition(seen.key, transition(seen, State.CLOSED, clock.at))
    clock.at += CHECK_AFTER

    assert tracker.sweep().completed == 1
    assert tracker.get("t", batch_id).completed_by == "sweeper"


def test_an_open_batch_of_which_every_item_is_acked_takes_more_items(tracker, clock):
    """Only a closed batch is repaired: which page of an open one is the last is not known."""
    batch_id, group = opened(tracker, 3, notify_at=("firstFailure",))
    fail(tracker, batch_id, group, 0)
    ack(tracker, batch_id, group, 1, 2)
    clock.at += MINUTE
    assert tracker.sweep().reached == 1
    more = tracker.add("t", batch_id, 5).groups[0].id
    tracker.close("t", batch_id, "closer")

    assert verdicts(ack(tracker, batch_id, more, *range(5))) == ["accepted"] * 5
    assert tracker.get("t", batch_id).result == "completed_with_failures"


def test_the_sweeper_completes_what_a_crash_left(tracker, clock):
    """All leaves are full, no parent knows of it, and close got no further than CLOSED."""
    batch_id, group = opened(tracker, 35)
    ack(tracker, batch_id, group, *range(35))
    store = tracker.store
    for key in list(store.stored_pages):
        if key.level:
            store.stored_pages[key] = Page()
    store.transition(key.batch, transition(tracker.get("t", batch_id), State.CLOSED, clock.at))
    clock.at += CHECK_AFTER

    assert tracker.sweep().completed == 1
    assert tracker.get("t", batch_id).state is State.COMPLETE
    assert tracker.sweep().looked == 0
