"""Rows of batches that time to live deletes between any two requests of a call: no call fails for it."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from itertools import count
from types import SimpleNamespace

import pytest

from fanin.errors import FaninError
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.batch_changes.reopening import ReopenBatch
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.page import PageMasks
from tests.tracker.calls import DAY, HOUR, ack, fail, opened
from tests.tracker.metered import CALLS
from tests.tracker.stored import MINUTE


class Vanishing(MemoryStore):
    """Deletes the rows of all batches before its request number *at*."""

    at = 0

    def __getattribute__(self, name):
        if name in CALLS and self.at:
            self.at -= 1
            if not self.at:
                self.batches.clear()
        return super().__getattribute__(name)


WATCHED = {
    "notify_at": ("firstFailure", "50%", "90%"),
    "stuck_after": MINUTE,
    "min_succeeded_percent": 40,
    "max_failure_percent": 60,
    "failure_sample": 3,
}
"""Options of a batch whose checks read the most."""
ACTS = {
    "open a child": lambda t, b: t.open("t", OpenBatch(parent_item_id=b.item), "new"),
    "open a child again": lambda t, b: t.open("t", OpenBatch(parent_item_id=b.item), "child"),
    "add": lambda t, b: t.add("t", b.open, 3, "more"),
    "close": lambda t, b: t.close("t", b.open, "me"),
    "cancel": lambda t, b: t.cancel("t", b.parent, children=True),
    "end": lambda t, b: t.end("t", b.open, "why", "who"),
    "ack": lambda t, b: ack(t, b.open, b.group, *range(9)),
    "fail": lambda t, b: fail(t, b.open, b.group, *range(9)),
    "ack pages": lambda t, b: t.ack_pages("t", b.open, {0: PageMasks(15), 1: PageMasks(3, 12)}, "me"),
    "sweep": lambda t, b: t.sweep(),
    "notify": lambda t, b: t.notify("t", b.ended),
    "confirm": lambda t, b: t.confirm(b.end),
    "reopen": lambda t, b: t.reopen("t", ReopenBatch(origin_batch_id=b.ended), "me", "again"),
    "delete": lambda t, b: t.delete("t", b.ended),
    "delete all": lambda t, b: t.delete_ended("t", t.now()),
    "list": lambda t, b: [t.outstanding(b.end), t.failures(b.end), t.samples(b.end), t.progress(b.end)],
    "age": lambda t, b: t.longest_open(),
}


def laid_out(tracker, clock):
    """A batch with an open child, and one that has ended with a failed item."""
    parent, items = opened(tracker, 2)
    open_id, group = opened(tracker, 9, parent_item_id=f"{parent}:{items}:0", **WATCHED)
    ended, failed = opened(tracker, 5, parent_item_id=f"{parent}:{items}:0")
    fail(tracker, open_id, group, 0, 5)
    fail(tracker, ended, failed, 1)
    ack(tracker, open_id, group, 1, 2)
    tracker.open("t", OpenBatch(parent_item_id=f"{parent}:{items}:1"), "child")
    tracker.cancel("t", ended)
    tracker.close("t", parent, "closer")
    clock.at += 2 * HOUR
    item = f"{parent}:{items}:0"
    return SimpleNamespace(
        parent=parent, item=item, open=open_id, group=group, ended=ended, end=tracker.get("t", ended)
    )


@pytest.mark.parametrize("fresh_for", [timedelta(0), DAY], ids=["reading", "caching"])
@pytest.mark.parametrize("act", ACTS)
def test_a_call_ends_well_or_with_a_named_error_whenever_the_rows_are_deleted(clock, act, fresh_for):
    for at in count(1):
        tracker = Tracker(Vanishing(), page_bits=4, fresh_for=fresh_for, now=clock, pause=lambda _: None)
        batches = laid_out(tracker, clock)
        tracker.store.at = at
        with suppress(FaninError):
            found = ACTS[act](tracker, batches)
            assert act != "sweep" or not found.failed, at
        if tracker.store.at:
            break
    assert at > 1
