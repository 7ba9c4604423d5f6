"""Load on the tracker: batches over HTTP and SQS, with failures, copies, children, cancels and orphans."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from fanin import Fanin
from fanin.client.transports.reports import AckReport
from fanin.errors import StoreUnavailable
from tests.soak.load.ledger import Expected, Ledger

ITEMS_MOST = 60
FAILING = 0.1
COPIES = 0.05


@dataclass
class Tracking:
    """What the threads of this load share; each has its own randomness."""

    fanin: Fanin
    ledger: Ledger
    sqs: Any
    chance: random.Random
    acks_queue: str = ""
    library: Fanin | None = None
    """A client on the tables, which acks beside the functions."""

    def open(self, kind: str, state: str = "COMPLETE", **options: Any) -> str:
        batch = self.fanin.open(f"soak-{kind}", **options).id
        self.ledger.opened(batch, Expected(kind, state=state))
        return batch

    def filled(self, batch: str, count: int) -> list[str]:
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
        if steps[-1] is close and (left := list(self.fanin.outstanding(batch))):
            raise AssertionError(f"outstanding after all acks: {left}")
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
            self.ledger.acked(insistent(partial(self.library.ack, items[at : at + 5], key=f"{batch}-{at}")))
        self.close(batch)

    def send(self, url: str, bodies: list[str]) -> None:
        for at in range(0, len(bodies), 10):
            entries: list[Any] = [
                {"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies[at : at + 10])
            ]
            self.sqs.send_message_batch(QueueUrl=url, Entries=entries)

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

    def cancelled(self) -> None:
        batch = self.open("cancelled", "CANCELLED")
        items = self.filled(batch, self.chance.randint(2, 20))
        self.ack(items[: len(items) // 2])
        self.fanin.cancel(batch, "soak")
        self.ack(items)


def ack_message(item: str, failed: bool) -> str:
    return json.dumps({"itemId": item, **({"outcome": "failure", "reason": "broken"} if failed else {})})


def insistent(request: Callable[[], AckReport]) -> AckReport:
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
