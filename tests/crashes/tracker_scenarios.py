"""Scenarios of the tracker's handlers."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import Any

from fanin.tracker import Ack, BatchKey, OpenBatch, Outcome, State
from fanin.tracker.rules.lifecycle import transition
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import PageMasks
from functions.wiring import tracking
from tests.crashes.account import Account
from tests.crashes.naming import TENANT, queue_arn
from tests.crashes.scenario import Delivery, Duty, Event, Messages, Request, Scenario

MINUTE = timedelta(minutes=1)


def opened(key: str = "batch", **options: Any) -> str:
    """Open a batch and return its id."""
    return tracking.tracker().open(TENANT, OpenBatch(**options), key=key).batch_id


def added(batch_id: str, count: int = 10, key: str = "items") -> list[str]:
    """Add items to a batch, on pages of four, and return their ids."""
    group = tracking.tracker().add(TENANT, batch_id, count, key=key).groups[0].id
    return [f"{batch_id}:{group}:{index}" for index in range(count)]


def closed(batch_id: str) -> None:
    tracking.tracker().close(TENANT, batch_id, "closer")


def acked(items: list[str], outcome: Outcome = Outcome.SUCCESS) -> None:
    reason = "broken" if outcome is Outcome.FAILURE else None
    tracking.tracker().ack(TENANT, [Ack.of(item, "worker", outcome, reason) for item in items])


def child(items: int = 10, **options: Any) -> tuple[str, list[str]]:
    """Return a batch that stands for the only item of a closed one, and its items."""
    parent = opened("parent")
    item = added(parent, 1)[0]
    closed(parent)
    batch = opened(parent_item_id=item, **options)
    return batch, added(batch, items)


def ack_message(item: str, outcome: str = "success") -> str:
    return json.dumps({"itemId": item, "outcome": outcome})


def _open(_: Account) -> Delivery:
    return Request("POST", "/v1/batches", {"userKey": "orders", "labels": {"a": "b"}})


def _open_child(_: Account) -> Delivery:
    parent = opened("parent")
    return Request("POST", "/v1/batches", {"parentItemId": added(parent, 1)[0], "deadlineSeconds": 3600})


def _open_waited_for(_: Account) -> Delivery:
    return Request("POST", "/v1/batches", {"taskToken": "a-token", "deadlineSeconds": 3600})


def _list(_: Account) -> Delivery:
    opened(user_key="orders")
    return Request("GET", "/v1/batches", query={"userKey": "orders"})


def _create_token(account: Account) -> Delivery:
    batch, _ = child(deadline=MINUTE)
    account.clock.pass_by(2 * MINUTE)
    return Request("POST", f"/v1/batches/{batch}/token", {})


def _get_progress(_: Account) -> Delivery:
    batch, items = child()
    acked(items[:5])
    token = tracking.tracker().progress_token(TENANT, batch)
    return Request("GET", "/v1/progress", query={"token": str(token)})


def _overdue(path: str, account: Account, outcome: Outcome = Outcome.SUCCESS) -> Delivery:
    """Read a child whose deadline has passed."""
    batch, items = child(deadline=MINUTE)
    acked(items[:5], outcome)
    account.clock.pass_by(2 * MINUTE)
    return Request("GET", f"/v1/batches/{batch}{path}")


def _map(_: Account) -> Delivery:
    batch, items = child()
    acked(items[:5])
    return Request("GET", f"/v1/batches/{batch}/map")


def _add_after_a_day(account: Account) -> Delivery:
    batch = opened()
    added(batch)
    account.clock.pass_by(timedelta(days=2))
    return Request("POST", f"/v1/batches/{batch}/items", {"count": 3})


def _close(_: Account) -> Delivery:
    batch, items = child()
    acked(items[:7])
    return Request("POST", f"/v1/batches/{batch}/close")


def _close_last(_: Account) -> Delivery:
    batch, items = child()
    acked(items)
    return Request("POST", f"/v1/batches/{batch}/close")


def _child(action: str, _: Account) -> Delivery:
    batch, _items = child()
    return Request("POST", f"/v1/batches/{batch}/{action}", {"reason": "enough"})


def below() -> str:
    """Return a batch with a child, which has a child itself."""
    parent = opened("top")
    middle = opened("middle", parent_item_id=added(parent, 1)[0])
    opened("below", parent_item_id=added(middle, 1)[0])
    return parent


def _cancel_below(_: Account) -> Delivery:
    return Request("POST", f"/v1/batches/{below()}/cancel", {"reason": "enough", "children": True})


def _cancel_below_at_last(_: Account) -> Delivery:
    batch = below()
    tracking.tracker().cancel(TENANT, batch, "enough")
    return Request("POST", f"/v1/batches/{batch}/cancel", {"children": True})


def _notify(_: Account) -> Delivery:
    batch = opened()
    tracking.tracker().cancel(TENANT, batch, "enough")
    return Request("POST", f"/v1/batches/{batch}/notify")


def failed_in_part() -> str:
    """Return a batch that has ended with three failures."""
    batch = opened()
    items = added(batch)
    closed(batch)
    acked(items[:3], Outcome.FAILURE)
    acked(items[3:])
    return batch


def _reopen(_: Account) -> Delivery:
    return Request("POST", f"/v1/batches/{failed_in_part()}/reopen", {})


def _origin(_: Account) -> Delivery:
    from fanin.tracker.batch_changes.reopening import ReopenBatch

    batch = tracking.tracker().reopen(TENANT, ReopenBatch(origin_batch_id=failed_in_part()), "t", key="k")
    return Request("GET", f"/v1/batches/{batch.batch_id}/origin")


def confirmed(batch: str) -> None:
    tracker = tracking.tracker()
    tracker.confirm(tracker.get(TENANT, batch))


def _delete(_: Account) -> Delivery:
    batch = failed_in_part()
    confirmed(batch)
    return Request("DELETE", f"/v1/batches/{batch}")


def _delete_many(account: Account) -> Delivery:
    for number in range(3):
        batch = opened(f"batch-{number}", user_key="orders")
        tracking.tracker().cancel(TENANT, batch, "enough")
        confirmed(batch)
    account.clock.pass_by(MINUTE)
    return Request("DELETE", "/v1/batches", query={"endedBefore": "2026-03-01T12:00:30Z"})


def _ack_some(_: Account) -> Delivery:
    _, items = child()
    return Request("POST", "/v1/acks", {"items": items[:6]})


def _ack_last(_: Account) -> Delivery:
    batch, items = child()
    closed(batch)
    acks = [{"itemId": item} for item in items[:-1]]
    acks.append({"itemId": items[-1], "outcome": "failure", "reason": "broken"})
    return Request("POST", "/v1/acks", {"acks": acks})


def _ack_so_that_too_many_failed(_: Account) -> Delivery:
    batch, items = child(max_failures=1, notify_at=["firstFailure", "50%"], stuck_after=MINUTE)
    closed(batch)
    acks = [{"itemId": item, "outcome": "failure", "reason": "broken"} for item in items[:6]]
    return Request("POST", "/v1/acks", {"acks": acks})


def _ack_enough(_: Account) -> Delivery:
    _, items = child(min_succeeded=6)
    return Request("POST", "/v1/acks", {"items": items[:6]})


def _consume_last(_: Account) -> Delivery:
    batch, items = child()
    closed(batch)
    return Messages((*(ack_message(item) for item in items), "not an ack"))


def _dead_letter_messages_last(_: Account) -> Delivery:
    batch, items = child()
    closed(batch)
    return Messages(tuple(json.dumps({"itemId": item}) for item in items), queue_arn("dead"))


def _stream_record(batch: str) -> dict[str, Any]:
    keys = {"pk": {"S": str(BatchKey(TENANT, batch))}, "sk": {"S": "batch"}}
    return {"eventID": "1", "eventName": "MODIFY", "dynamodb": {"Keys": keys, "SequenceNumber": "1"}}


def ended_child() -> str:
    """Return a batch that has ended, whose process crashed before it acked the parent's item."""
    batch, _ = child()
    tracker = tracking.tracker()
    stored = tracker.get(TENANT, batch)
    tracker.store.transition(stored.key, transition(stored, State.CANCELLED, tracker.now()))
    return batch


def ending_of(batch: str) -> dict[str, Any]:
    stored = tracking.tracker().get(TENANT, batch)
    return {"tenant": TENANT, "batchId": batch, "eventId": f"{batch}:{stored.state}"}


def _resume(_: Account) -> Delivery:
    batches = []
    for number, kind in enumerate(("task_token", "durable_callback_id") * 2):
        spec = {kind: f"token+{number}", "deadline": timedelta(hours=1)}
        batches.append(opened(f"waited-{number}", **spec))
    for batch in batches[:2]:
        tracking.tracker().cancel(TENANT, batch, "enough")
    for batch in batches[2:]:
        items = added(batch, 1)
        closed(batch)
        acked(items)
    return Messages(tuple(json.dumps({"detail": ending_of(batch)}) for batch in batches))


def _sweep(account: Account) -> Delivery:
    """An overdue batch with a parent, one that a crash left unfinished, and one to be reported."""
    child(deadline=MINUTE)
    unfinished = opened("unfinished")
    items = added(unfinished)
    closed(unfinished)
    tracker = tracking.tracker()
    key = BatchKey(TENANT, unfinished)
    tracker.store.add_bits(
        PageKey(key, 0, 0),
        PageMasks.of(0b1111, Outcome.SUCCESS),
        tracker.get(TENANT, unfinished).pages_expire_at,
    )
    acked(items[4:])
    asking = opened("asking", notify_at=["firstFailure", "50%"], stuck_after=MINUTE)
    some = added(asking, 2)
    closed(asking)
    acked(some[:1], Outcome.FAILURE)
    account.clock.pass_by(timedelta(hours=1))
    return Event({})


def _sweep_below(account: Account) -> Delivery:
    """A batch that was cancelled with its children, by a process that crashed before it cancelled any."""
    tracker = tracking.tracker()
    stored = tracker.get(TENANT, below())
    tracker.store.transition(stored.key, transition(stored, State.CANCELLED, tracker.now(), children=True))
    account.clock.pass_by(timedelta(hours=1))
    return Event({})


NEXT_SWEEP = (Duty("sweep", timedelta(hours=1)),)

TIMES = frozenset({"completedAt", "expiresAt", "endedAt", "nextCheckAt", "dueAt", "ttl", "at", "createdKey"})
"""Of a batch that ends when a crash is healed, and not at once."""
BY_WHOM = frozenset({"completedBy"})
"""Which of a delivery's messages completed the batch: another one after a crash."""

TRACKER = [
    Scenario("open_batch", "a batch", _open),
    Scenario("open_batch", "a child", _open_child),
    Scenario("open_batch", "a task waits for it", _open_waited_for),
    Scenario("list_batches", "by user key", _list),
    Scenario("get_batch", "its deadline has passed, and the parent ends", partial(_overdue, "")),
    Scenario("get_batch", "a map", _map),
    Scenario("get_outstanding", "its deadline has passed", partial(_overdue, "/outstanding")),
    Scenario(
        "get_failures", "its deadline has passed", partial(_overdue, "/failures", outcome=Outcome.FAILURE)
    ),
    Scenario("get_origin", "a reopened batch", _origin),
    Scenario(
        "add_items", "three pages", lambda _: Request("POST", f"/v1/batches/{opened()}/items", {"count": 10})
    ),
    Scenario("add_items", "the expiry is prolonged", _add_after_a_day),
    Scenario("close_batch", "items are outstanding", _close),
    Scenario("close_batch", "all is acked, and the parent ends", _close_last),
    Scenario("close_batch", "no items", lambda _: Request("POST", f"/v1/batches/{opened()}/close")),
    Scenario("cancel_batch", "a child, and the parent ends", partial(_child, "cancel")),
    Scenario("cancel_batch", "with the batches below it", _cancel_below, NEXT_SWEEP * 2, fresh=TIMES),
    Scenario(
        "cancel_batch",
        "it was cancelled without those below it",
        _cancel_below_at_last,
        NEXT_SWEEP * 2,
        fresh=TIMES,
    ),
    Scenario("get_children", "of a batch", lambda _: Request("GET", f"/v1/batches/{below()}/children")),
    Scenario("get_children", "its deadline has passed", partial(_overdue, "/children")),
    Scenario("create_progress_token", "its deadline has passed", _create_token),
    Scenario("get_progress", "half is acked", _get_progress),
    Scenario("get_health", "asked", lambda _: Request("GET", "/v1/health")),
    Scenario("end_batch", "a child, and the parent ends", partial(_child, "end")),
    Scenario("notify_batch", "an ended batch", _notify),
    Scenario("reopen_batch", "three failures", _reopen),
    Scenario("delete_batch", "with user data", _delete),
    Scenario("delete_batches", "three of them", _delete_many, free_answer=True),
    Scenario("ack_items", "items of two pages", _ack_some, free_answer=True),
    Scenario("ack_items", "the last ones, one failed, and the parent ends", _ack_last, free_answer=True),
    Scenario(
        "ack_items", "too many failures, and the parent ends", _ack_so_that_too_many_failed, free_answer=True
    ),
    Scenario("ack_items", "enough successes, and the parent ends", _ack_enough, free_answer=True),
    Scenario(
        "consume_acks",
        "the last ones, and one message that is no ack",
        _consume_last,
        fresh=BY_WHOM,
        returns=True,
    ),
    Scenario(
        "fail_dead_letter_messages",
        "the last ones, and the parent ends",
        _dead_letter_messages_last,
        fresh=BY_WHOM,
    ),
    Scenario(
        "publish_endings", "an ended batch", lambda _: Event({"Records": [_stream_record(failed_in_part())]})
    ),
    Scenario(
        "confirm_event", "the parent was not acked", lambda _: Event({"detail": ending_of(ended_child())})
    ),
    Scenario("resume_task", "of cancelled and of complete batches", _resume),
    Scenario(
        "sweep",
        "overdue, unfinished, and to be reported",
        _sweep,
        NEXT_SWEEP * 2,
        fresh=TIMES | BY_WHOM,
    ),
    Scenario("sweep", "the batches below a cancelled one", _sweep_below, NEXT_SWEEP * 2, fresh=TIMES),
]
