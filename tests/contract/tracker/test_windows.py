"""Windows: what is outstanding and what failed in one range of a group, over every store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.errors import Conflict, InvalidRequest, NotFound
from fanin.tracker import Ack, Mode, Outcome, Tracker, memory
from fanin.tracker.dynamodb import store as dynamodb
from fanin.tracker.reads import window as windows
from tests.tracker.calls import fail, opened


@pytest.fixture
def tracker(store):
    return Tracker(store, page_bits=16, fresh_for=timedelta(0), pause=lambda _: None)


def seen(tracker, batch_id, group, first, last):
    """The outstanding and the failed items, as sets of indexes."""
    found = tracker.window(tracker.get("t", batch_id), group, first, last)
    return tuple(
        {index for part in found.ranges(mask) for index in range(part.first, part.last + 1)}
        for mask in (found.outstanding, found.failed)
    )


def test_a_compacted_page_has_nothing_outstanding_and_keeps_its_failures(tracker):
    batch_id, group = opened(tracker, 40)
    fail(tracker, batch_id, group, 3)
    tracker.ack("t", [Ack(batch_id, group, 0, 31, "me", Outcome.FAILURE), Ack(batch_id, group, 5, 6, "me")])

    assert seen(tracker, batch_id, group, 2, 33) == ({32, 33}, set(range(2, 32)) - {5, 6})


@pytest.mark.parametrize(
    ("first", "last", "field"),
    [(5, 4, "from"), (-1, 4, "from"), (0, 20_000, "to"), (0, 10_000, "to"), (30_000, 30_000, "to")],
)
def test_a_range_that_is_malformed_too_long_or_beyond_the_group_is_refused(tracker, first, last, field):
    batch_id, group = opened(tracker, 20_000)
    with pytest.raises(InvalidRequest) as refusal:
        tracker.window(tracker.get("t", batch_id), group, first, last)

    assert refusal.value.field == field


def test_the_group_of_another_batch_is_not_found_and_an_estimated_batch_knows_no_items(tracker):
    batch_id, _ = opened(tracker, 4)
    _, foreign = opened(tracker, 4)
    for other in (foreign, "00000000-0000-4000-8000-00000000dead"):
        with pytest.raises(NotFound):
            tracker.window(tracker.get("t", batch_id), other, 0, 1)
    estimated, counted = opened(tracker, 4, mode=Mode.ESTIMATED)
    with pytest.raises(Conflict):
        tracker.window(tracker.get("t", estimated), counted, 0, 1)


def test_the_largest_window_of_the_usual_page_size_is_one_read(store, monkeypatch):
    calls = []
    for module in (dynamodb, memory):
        kind = module.DynamoStore if module is dynamodb else module.MemoryStore
        pages = kind.pages
        monkeypatch.setattr(
            kind, "pages", lambda self, keys, pages=pages: calls.append(len(keys)) or pages(self, keys)
        )
    tracker = Tracker(store, pause=lambda _: None)
    batch_id, group = opened(tracker, 20_000)
    tracker.window(tracker.get("t", batch_id), group, 1_000, 999 + windows.WINDOW_MAX)

    assert calls == [11]
