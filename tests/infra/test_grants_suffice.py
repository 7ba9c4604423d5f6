"""What the tracker sends to DynamoDB is what its handlers are granted: the code itself is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from fanin.api.events.ending_events import confirm, endings
from fanin.api.events.step_functions import resume
from fanin.errors import BatchEnded, Conflict
from fanin.tracker import Ack, BatchKey, ListQuery, OpenBatch, Outcome, State, Tracker
from fanin.tracker.rules.lifecycle import transition
from fanin_cdk.grants.handlers import (
    CONFIRM_EVENT,
    CONSUME_ACKS,
    DEAD_LETTER_HANDLER,
    PUBLISH_ENDINGS,
    RESUME_TASK,
    ROUTES,
    SWEEP,
)
from tests.infra.repair_deeds import REPAIRS
from tests.infra.sending import AT, FALLBACK, actions_sent

HANDLERS = {
    handler.name: handler
    for handler in (
        *ROUTES,
        CONSUME_ACKS,
        PUBLISH_ENDINGS,
        CONFIRM_EVENT,
        RESUME_TASK,
        DEAD_LETTER_HANDLER,
        SWEEP,
    )
}


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    at: datetime = AT

    def __call__(self) -> datetime:
        return self.at


def later(tracker, by):
    """*tracker*, *by* that much later, with nothing in its memory."""
    return Tracker(tracker.store, now=Clock(tracker.now() + by), pause=lambda _: None)


def opened(tracker):
    return tracker.open("t", OpenBatch(), key="k").batch_id


def opened_with_stalls(tracker):
    return tracker.open("t", OpenBatch(stuck_after=timedelta(minutes=1))).batch_id


def added(tracker):
    """A batch of three pages, and the ids of its items."""
    batch_id = opened(tracker)
    group = tracker.add("t", batch_id, 3000, key="k").groups[0].id
    return batch_id, [f"{batch_id}:{group}:{index}" for index in range(3000)]


def ack(tracker, ids):
    tracker.ack("t", [Ack.of(text, "c") for text in ids])


def open_twice(tracker, _):
    opened(tracker)
    opened(tracker)


def add_twice(tracker, batch_id):
    tracker.add("t", batch_id, 200, key="k")
    tracker.add("t", batch_id, 200, key="k")


def look(tracker, batch_and_items):
    batch = tracker.get("t", batch_and_items[0])
    tracker.progress(batch)
    tracker.map(batch)


def ack_singly_in_bulk_and_again(tracker, batch_and_items):
    _, items = batch_and_items
    for ids in (items[:1], items[:1], items[3:60], items[3:60], items, items):
        ack(tracker, ids)


def close_twice(tracker, batch_and_items):
    batch_id, _ = batch_and_items
    tracker.close("t", batch_id, "c")
    tracker.close("t", batch_id, "c")


def all_acked(tracker):
    batch_and_items = added(tracker)
    ack(tracker, batch_and_items[1])
    return batch_and_items


def closed(tracker):
    batch_and_items = added(tracker)
    tracker.close("t", batch_and_items[0], "c")
    return batch_and_items


MOMENT = timedelta(minutes=1)
LONG = timedelta(days=8)
FAILED = Outcome.FAILURE


def overdue(tracker):
    """A batch whose deadline has passed by the time it is looked at, and one of its items."""
    batch_id = tracker.open("t", OpenBatch(deadline=MOMENT)).batch_id
    group = tracker.add("t", batch_id, 5).groups[0].id
    return batch_id, [f"{batch_id}:{group}:{index}" for index in range(5)]


def child_of(tracker):
    """A batch with an item that stands for a closed parent's only item; the child's id, and its items."""
    parent = tracker.open("t", OpenBatch()).batch_id
    group = tracker.add("t", parent, 1).groups[0].id
    tracker.close("t", parent, "c")
    child = tracker.open("t", OpenBatch(parent_item_id=f"{parent}:{group}:0", deadline=MOMENT)).batch_id
    of_child = tracker.add("t", child, 1).groups[0].id
    return child, [f"{child}:{of_child}:0"]


def cancelled(tracker):
    batch_id, _ = added(tracker)
    tracker.cancel("t", batch_id, "enough")
    return batch_id


def failed_in_part(tracker):
    batch_and_items = closed(tracker)
    fail(tracker, batch_and_items)
    return batch_and_items


def fail(tracker, batch_and_items):
    _, items = batch_and_items
    tracker.ack("t", [Ack.of(text, "c", FAILED, "broken") for text in items[:3]])
    tracker.ack("t", [Ack.of(items[0], "c")])


def fail_all(tracker, batch_and_items):
    tracker.ack("t", [Ack.of(text, "c", FAILED, "broken") for text in batch_and_items[1]])


def open_a_child_of_an_overdue_batch(tracker, batch_and_items):
    with pytest.raises(Conflict):
        later(tracker, LONG / 8).open("t", OpenBatch(parent_item_id=batch_and_items[1][0]))


def open_the_next_child(tracker, batch_and_items):
    """A child takes the place of one that was cancelled."""
    wish = OpenBatch(parent_item_id=batch_and_items[1][0])
    first = tracker.open("t", wish, key="child")
    tracker.store.transition(first.key, transition(first, State.CANCELLED, tracker.now()))
    tracker.open("t", wish, key="child")


def look_later(tracker, batch_and_items):
    after = later(tracker, 2 * MOMENT)
    after.progress(after.get("t", batch_and_items[0]))


def add_later(tracker, batch_and_items):
    later(tracker, timedelta(days=2)).add("t", batch_and_items[0], 5)


def close_later(tracker, batch_and_items):
    with pytest.raises(BatchEnded):
        later(tracker, 2 * MOMENT).close("t", batch_and_items[0], "c")


def ack_later(tracker, batch_and_items):
    ack(later(tracker, timedelta(days=3)), batch_and_items[1][:2])


def cancel(tracker, batch_and_items):
    tracker.cancel("t", batch_and_items[0], "enough")


def family(tracker):
    """A batch with a child, which is not cancelled with it yet."""
    batch_id, items = added(tracker)
    tracker.open("t", OpenBatch(parent_item_id=items[0]))
    return batch_id, items


def list_children(tracker, batch_and_items):
    batch_id, items = batch_and_items
    for item in (None, items[0]):
        tracker.children(tracker.get("t", batch_id), item)


def cancel_below(tracker, batch_and_items):
    for children in (False, True, True):
        tracker.cancel("t", batch_and_items[0], children=children)


def sweep_below(tracker, batch_and_items):
    batch = tracker.get("t", batch_and_items[0])
    change = transition(batch, State.CANCELLED, tracker.now(), children=True)
    tracker.store.transition(batch.key, change)
    later(tracker, MOMENT + timedelta(minutes=2)).sweep()


def with_key(route):
    """What a route does with an idempotency key, twice."""

    def bind(tracker, _):
        for _again in range(2):
            tracker.bind_key("t", route, "k", "payload")

    return bind


def notify(tracker, batch_id):
    tracker.notify("t", batch_id)


def notify_later(tracker, batch_and_items):
    later(tracker, 2 * MOMENT).notify("t", batch_and_items[0])


def list_all_and_some(tracker, batch_and_items):
    tracker.list("t", ListQuery())
    tracker.list("t", ListQuery(user_key="orders", opened_from=AT))
    tracker.list("t", ListQuery(user_key_prefix="or", opened_to=AT))


def outstanding(tracker, batch_and_items):
    after = later(tracker, 2 * MOMENT)
    after.outstanding(after.get("t", batch_and_items[0]))


def failures(tracker, batch_and_items):
    after = later(tracker, 2 * MOMENT)
    batch = after.get("t", batch_and_items[0])
    after.failures(batch)
    after.samples(batch)


def window(tracker, batch_and_items):
    batch_id, group, _ = batch_and_items[1][0].split(":")
    assert tracker.window(tracker.get("t", batch_id), group, 0, 1)


def asking(tracker):
    """A closed batch that has reached each threshold."""
    batch_id = tracker.open("t", OpenBatch(notify_at=["firstFailure", "50%"], stuck_after=MOMENT)).batch_id
    group = tracker.add("t", batch_id, 2).groups[0].id
    tracker.close("t", batch_id, "c")
    tracker.ack("t", [Ack(batch_id, group, 0, 0, "c", FAILED)])


def ack_so_that_it_is_recorded(tracker, batch_id):
    group = tracker.add("t", batch_id, 2).groups[0].id
    ack(later(tracker, timedelta(hours=1)), [f"{batch_id}:{group}:0"])


def sweep_and_report(tracker, _):
    assert later(tracker, timedelta(hours=1)).sweep().reached == 3


def sweep_again_and_again(tracker, _):
    for wait in (2 * MOMENT, timedelta(hours=1), timedelta(hours=12), LONG, 2 * LONG):
        after = later(tracker, wait)
        after.sweep()
        after.longest_open()


def publish(tracker, batch_id):
    keys = {"pk": {"S": str(BatchKey("t", batch_id))}, "sk": {"S": "batch"}}
    assert endings([{"dynamodb": {"Keys": keys}}], tracker)


def confirm_a_child_that_was_to_tell_its_parent(tracker, batch_and_items):
    batch_id, _ = batch_and_items
    batch = tracker.get("t", batch_id)
    tracker.store.transition(batch.key, transition(batch, State.CANCELLED, AT))
    confirm_twice(tracker, batch_id)


def confirm_twice(tracker, batch_id):
    batch = tracker.get("t", batch_id)
    detail = {"tenant": "t", "batchId": batch_id, "eventId": f"{batch_id}:{batch.state}"}
    assert confirm(detail, tracker)
    assert confirm(detail, tracker)


def with_a_token(tracker):
    """Two batches with task tokens, one opened under a key; both have ended."""
    request = OpenBatch(task_token="t0ken", deadline=MOMENT)
    ids = [tracker.open("t", request, key=key).batch_id for key in ("k", None)]
    for batch_id in ids:
        tracker.cancel("t", batch_id, "enough")
    return ids


class Ended:
    """Step Functions, which ends every task."""

    def succeed(self, *_):
        return True

    fail = succeed


def resume_twice(tracker, ids):
    for batch_id in ids * 2:
        batch = tracker.store.get(BatchKey("t", batch_id))
        detail = {"tenant": "t", "batchId": batch_id, "eventId": f"{batch_id}:{batch.state}"}
        resume(json.dumps({"detail": detail}), tracker, Ended())


# What every handler that acks has in common.
ACKERS = ("ack_items", "consume_acks", "fail_dead_letter_messages")
ACKING = [(closed, fail), (closed, ack_later), (overdue, ack_later), (child_of, fail_all)]
# handler, what others did before, what it does
DEEDS = [
    ("open_batch", lambda _: None, open_twice),
    ("open_batch", lambda _: None, lambda tracker, _: with_a_token(tracker)),
    ("open_batch", overdue, open_a_child_of_an_overdue_batch),
    ("open_batch", added, open_the_next_child),
    ("list_batches", added, list_all_and_some),
    ("add_items", opened, add_twice),
    ("add_items", added, add_later),
    ("get_batch", added, look),
    ("get_batch", all_acked, look),
    ("get_batch", overdue, look_later),
    ("close_batch", added, close_twice),
    ("close_batch", all_acked, close_twice),
    ("close_batch", child_of, close_later),
    ("close_batch", opened, with_key("close")),
    ("cancel_batch", added, cancel),
    ("cancel_batch", child_of, cancel),
    ("cancel_batch", opened, with_key("cancel")),
    ("cancel_batch", family, cancel_below),
    ("get_children", family, list_children),
    ("get_children", overdue, list_children),
    ("sweep", family, sweep_below),
    ("notify_batch", cancelled, notify),
    ("notify_batch", overdue, notify_later),
    ("notify_batch", opened, with_key("notify")),
    *REPAIRS,
    ("get_outstanding", failed_in_part, outstanding),
    ("get_outstanding", overdue, outstanding),
    ("get_outstanding", failed_in_part, window),
    ("get_failures", failed_in_part, failures),
    ("get_failures", overdue, failures),
    ("get_failures", failed_in_part, window),
    ("ack_items", opened, with_key("acks")),
    ("ack_items", added, ack_singly_in_bulk_and_again),
    ("ack_items", closed, ack_singly_in_bulk_and_again),
    *((handler, *each) for handler in ACKERS for each in ACKING),
    ("sweep", overdue, sweep_again_and_again),
    ("sweep", child_of, sweep_again_and_again),
    ("sweep", closed, sweep_again_and_again),
    ("sweep", asking, sweep_and_report),
    ("ack_items", opened_with_stalls, ack_so_that_it_is_recorded),
    ("publish_endings", cancelled, publish),
    ("resume_task", with_a_token, resume_twice),
    ("confirm_event", cancelled, confirm_twice),
    ("confirm_event", child_of, confirm_a_child_that_was_to_tell_its_parent),
]


@pytest.mark.parametrize("handler", HANDLERS)
def test_a_handler_is_granted_what_its_use_case_sends_and_no_more(handler):
    granted = HANDLERS[handler]
    of_batches = {(action, "Batches") for action in granted.batches}
    of_indexes = {("dynamodb:Query", f"Batches/index/{name}") for name in granted.indexes}
    grants = of_batches | of_indexes | {(action, "Pages") for action in granted.pages}

    sent = [actions_sent(before, deed) for name, before, deed in DEEDS if name == handler]

    assert set().union(*sent) <= grants
    assert grants - set().union(*sent) <= FALLBACK
