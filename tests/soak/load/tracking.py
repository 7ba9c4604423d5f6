"""Load on the tracker: batches over HTTP and SQS, with failures, copies, children, cancels and orphans."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from fanin import Fanin
from fanin.client.consuming.records import returned_ids
from fanin.client.transports.reports import AckReport
from fanin.errors import Conflict, NotFound, StoreUnavailable
from fanin.local.user_function.source import WorkSource
from fanin.testing.delivering import LambdaContext
from fanin.tracker import Retention
from tests.soak.load.ledger import Expected, Ledger

ITEMS_MOST = 60
FAILING = 0.1
POISON = 0.01
TRANSIENT = 0.05
COPIES = 0.05
ORPHAN_SECONDS = 60
DEADLINE_SECONDS = 5


@dataclass
class Tracking:
    """What the threads of this load share; each has its own randomness."""

    fanin: Fanin
    ledger: Ledger
    source: WorkSource
    chance: random.Random
    acks_queue: str = ""
    library: Fanin | None = None
    """A client on the tables, which acks beside the functions."""

    def open(self, kind: str, state: str = "COMPLETE", **options: Any) -> str:
        with self.ledger.doubting("BatchesOpened"):
            batch = self.fanin.open(f"soak-{kind}", **options).id
        self.ledger.opened(batch, Expected(kind, state=state))
        return batch

    def filled(self, batch: str, count: int) -> list[str]:
        with self.ledger.doubting("ItemsAdded", count):
            items = [str(item) for item in self.fanin.add(batch, count)]
        self.ledger.added(batch, count)
        return items

    def close(self, batch: str) -> None:
        if self.fanin.close(batch).completed_by_you:
            self.ledger.reported_by_close(batch)

    def ack(self, items: list[str]) -> None:
        """Ack items in an order of its own, some of them twice."""
        acked = items + [item for item in items if self.chance.random() < COPIES]
        self.chance.shuffle(acked)
        for at in range(0, len(acked), 20):
            self.ledger.acked(self.fanin.ack(acked[at : at + 20]))

    def fail(self, items: list[str], reason: str) -> None:
        self.ledger.acked(self.fanin.fail(items, reason))

    def failing(self, batch: str, items: list[str]) -> list[str]:
        """Choose the items of *batch* that fail."""
        failed = [item for item in items if self.chance.random() < FAILING]
        self.ledger.batches[batch].failed, self.ledger.batches[batch].failed_items = len(failed), set(failed)
        return failed

    def direct(self) -> None:
        """Open, fill, ack and fail over HTTP, closing somewhere between."""
        batch = self.open("direct")
        items = self.filled(batch, self.chance.randint(1, ITEMS_MOST))
        failed = self.failing(batch, items)
        close = partial(self.close, batch)
        steps: list[Callable[[], None]] = [
            lambda: self.ack([item for item in items if item not in failed]),
            close,
        ]
        if failed:
            steps.append(lambda: self.fail(failed, "bad record"))
        self.chance.shuffle(steps)
        for step in steps[:-1]:
            step()
        if steps[-1] is close and (outstanding := list(self.fanin.outstanding(batch))):
            raise AssertionError(f"outstanding after all acks: {outstanding}")
        steps[-1]()

    def messages(self) -> None:
        """Send the acks as messages, some of them twice, before or after the close."""
        batch = self.open("messages")
        items = self.filled(batch, self.chance.randint(1, ITEMS_MOST))
        failed = self.failing(batch, items)
        if closes_first := self.chance.random() < 0.5:
            self.close(batch)
        acks = [
            ack_message(item, item in failed) for item in items + self.chance.sample(items, len(items) // 4)
        ]
        self.chance.shuffle(acks)
        self.send(self.acks_queue, acks)
        if not closes_first:
            self.close(batch)

    def direct_acks(self) -> None:
        """Ack by the library on the tables, repeating what is not stored."""
        batch = self.open("library")
        items = self.filled(batch, self.chance.randint(1, ITEMS_MOST))
        assert self.library is not None
        for at in range(0, len(items), 5):
            self.ledger.acked(retried(partial(self.library.ack, items[at : at + 5], key=f"{batch}-{at}")))
        self.close(batch)

    def send(self, url: str, bodies: list[str]) -> None:
        for at in range(0, len(bodies), 10):
            entries: list[Any] = [
                {"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies[at : at + 10])
            ]
            self.source.client.send_message_batch(QueueUrl=url, Entries=entries)

    def queued(self) -> None:
        """Send the items to the queue of the consumers; a few are poison."""
        batch = self.open("queued")
        items = self.filled(batch, self.chance.randint(1, ITEMS_MOST))
        poison = [item for item in items if self.chance.random() < POISON]
        self.ledger.batches[batch].failed = len(poison)
        self.ledger.poison.update(poison)
        sent = items + [item for item in items if item not in poison and self.chance.random() < COPIES]
        self.send(self.source.url, sent)
        self.close(batch)

    def nested(self) -> None:
        """Open a batch whose items are batches."""
        parent = self.open("parent")
        items = self.filled(parent, 2)
        self.close(parent)
        for item in items:
            child = self.open("child", parent=item)
            inner = self.filled(child, self.chance.randint(1, 10))
            self.ack(inner)
            self.close(child)

    def resulting(self) -> None:
        """Ack items with results, some again with another one; some fail."""
        batch = self.open("resulting", results=True)
        items = self.filled(batch, self.chance.randint(1, ITEMS_MOST))
        failed = self.failing(batch, items)
        succeeded = [item for item in items if item not in failed]
        self.ledger.batches[batch].items_with_results = {*succeeded}
        for at in range(0, len(succeeded), 5):
            for copy in range(2 if self.chance.random() < COPIES * 5 else 1):
                values = [{"item": item, "copy": copy} for item in succeeded[at : at + 5]]
                self.ledger.acked(self.fanin.ack(succeeded[at : at + 5], results=values))
        if failed:
            self.fail(failed, "bad record")
        self.close(batch)

    def enough(self) -> None:
        """Ack as many items as are enough, and no more."""
        count = self.chance.randint(2, ITEMS_MOST)
        least = self.chance.randint(1, count - 1)
        batch = self.open("enough", min_succeeded=least)
        items = self.filled(batch, count)
        self.ledger.batches[batch].enough = least
        with suppress(Conflict):  # it ends while it is open
            self.ack(items[:least])
            self.close(batch)

    def cascaded(self) -> None:
        """Cancel a batch with its child."""
        parent = self.open("cascading", "CANCELLED")
        (item,) = self.filled(parent, 1)
        child = self.open("cascaded", "CANCELLED", parent=item, parent_fails_on="any")
        self.ack(self.filled(child, 4)[:2])
        self.fanin.cancel(parent, "soak", children=True)

    def cancelled(self) -> None:
        batch = self.open("cancelled", "CANCELLED")
        items = self.filled(batch, self.chance.randint(2, 20))
        self.ack(items[: len(items) // 2])
        self.fanin.cancel(batch, "soak")
        self.ack(items)

    def overdue(self) -> None:
        batch = self.open("overdue", "TIMED_OUT", deadline=timedelta(seconds=DEADLINE_SECONDS))
        with suppress(Conflict):  # a machine that is slow enough is too late for its own items
            self.ack(self.filled(batch, 10)[:3])

    def orphaned(self) -> None:
        """Open a batch and forget it, sometimes without any item."""
        kept = Retention(open=timedelta(seconds=ORPHAN_SECONDS))
        batch = self.open("orphan", "EXPIRED", retention=kept)
        if self.chance.random() < 0.5:
            with suppress(NotFound):  # on a machine so slow that it has expired by then
                self.filled(batch, 5)


@dataclass
class Consuming:
    """A consumer of the queue, as Lambda runs one: deliveries of ten, some of them delivered twice."""

    fanin: Fanin
    ledger: Ledger
    source: WorkSource
    chance: random.Random

    def __post_init__(self) -> None:
        self.handler = self.fanin.acks(self.handle)

    def handle(self, record: Any) -> None:
        if record["body"] in self.ledger.poison:
            raise ValueError("poison")
        if self.chance.random() < TRANSIENT:
            raise TimeoutError("a service is not there for a moment")

    def deliver(self) -> None:
        """Receive one delivery and work on it."""
        records = self.source.receive(10, 1)
        if not records:
            return
        returned = self.invoked(records)
        if self.chance.random() < COPIES:
            self.invoked(records)
        receipts = {each["messageId"]: each["receiptHandle"] for each in records}
        if gone := [receipts[each] for each in receipts if each not in returned]:
            self.source.delete(gone)
        if back := [receipts[each] for each in receipts if each in returned]:
            self.source.hide(back, 0)

    def invoked(self, records: list[dict[str, Any]]) -> set[str]:
        answer = self.handler({"Records": records}, LambdaContext())
        return returned_ids(answer, {each["messageId"] for each in records})


def fail_dead_letter_messages(tracking: Tracking, dead: list[str]) -> None:
    """Fail the items of the dead-letter messages, so that their batches end."""
    for at in range(0, len(dead), 100):
        tracking.fail(dead[at : at + 100], "poison")


def ack_message(item: str, failed: bool) -> str:
    return json.dumps({"itemId": item, **({"outcome": "failure", "reason": "broken"} if failed else {})})


def retried(request: Callable[[], AckReport]) -> AckReport:
    """Return the answer of *request*, repeated while the store is not there."""
    for _ in range(20):
        with suppress(StoreUnavailable):
            return request()
    return request()


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    """Return whether *holds* comes true in time."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(1)
    return True
