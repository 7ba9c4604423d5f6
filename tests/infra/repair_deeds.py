"""What the handlers of repairs do, for the test that compares their requests with their grants."""

from __future__ import annotations

from datetime import timedelta

from fanin.tracker import Ack, BatchKey, OpenBatch, Outcome, Tracker
from fanin.tracker.writing.reopening import ReopenBatch, ReopenItems

MOMENT = timedelta(minutes=1)


def later(tracker):
    """*tracker*, two minutes later, with nothing in its memory."""
    at = tracker.now() + 2 * MOMENT
    return Tracker(tracker.store, now=lambda: at, pause=lambda _: None)


def child(tracker, **options):
    """A batch with failed items that stands for an item of another one."""
    parent = tracker.open("t", OpenBatch()).batch_id
    above = tracker.add("t", parent, 1).groups[0].id
    tracker.close("t", parent, "c")
    batch_id = tracker.open("t", OpenBatch(parent_item_id=f"{parent}:{above}:0", **options)).batch_id
    group = tracker.add("t", batch_id, 3000).groups[0].id
    failures = [Ack(batch_id, group, at, at, "c", Outcome.FAILURE, "broken") for at in range(3)]
    tracker.ack("t", failures)
    return batch_id


def overdue(tracker):
    return child(tracker, deadline=MOMENT)


def ended(tracker):
    batch_id = child(tracker)
    tracker.cancel("t", batch_id, "enough")
    return batch_id


def settled(tracker):
    batch_id = ended(tracker)
    tracker.confirm(tracker.store.get(BatchKey("t", batch_id)))
    return batch_id


def reopened(tracker):
    requests = [ReopenBatch(origin_batch_id=ended(tracker), items=items) for items in ReopenItems]
    return [tracker.reopen("t", request, "c").batch_id for request in requests]


def reopen_twice(tracker, batch_id):
    for items in (*ReopenItems, *ReopenItems):
        tracker.reopen("t", ReopenBatch(origin_batch_id=batch_id, items=items), "c", key=items)


def reopen_later(tracker, batch_id):
    reopen_twice(later(tracker), batch_id)


def origins(tracker, batch_ids):
    for batch_id in batch_ids:
        assert tracker.origin(tracker.get("t", batch_id)).ranges


def look_later(tracker, batch_id):
    later(tracker).get("t", batch_id)


def force(tracker, batch_id):
    for _again in range(2):
        tracker.end("t", batch_id, "stuck", "a person")
        tracker.bind_key("t", "end", "k", "payload")


def delete_twice(tracker, batch_id):
    for _again in range(2):
        tracker.delete("t", batch_id)


def delete_all(tracker, _):
    assert tracker.delete_ended("t", tracker.now() + MOMENT).count


REPAIRS = [
    ("reopen_batch", ended, reopen_twice),
    ("reopen_batch", overdue, reopen_later),
    ("get_origin", reopened, origins),
    ("get_origin", overdue, look_later),
    ("end_batch", child, force),
    ("delete_batch", settled, delete_twice),
    ("delete_batches", settled, delete_all),
]
"""Handler, what others did before, what it does."""
