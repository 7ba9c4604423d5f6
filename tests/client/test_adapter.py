"""Messages that cannot be matched to an item: they come back after growing pauses, and are logged once."""

from __future__ import annotations

from typing import Any

import pytest

from fanin.client.consuming.adapter import (
    LONGEST_PAUSE_IN_ORDER_SECONDS,
    Adapter,
)
from fanin.client.consuming.records import dead_letter_message_ack
from fanin.client.transports.direct import DirectTransport
from fanin.errors import StoreUnavailable
from fanin.isolating import TRIES
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from tests.functions.deliveries import delivery

TENANT = "t"
UNKNOWN = "00000000-0000-4000-8000-00000000dead:00000000-0000-4000-8000-00000000dead:0"
DEAD = "arn:aws:sqs:eu-west-1:111122223333:orders-dead"


class Hidden:
    """Remembers what was to be hidden."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, int]]] = []

    def __call__(self, queue: str, pauses: Any) -> None:
        self.asked.append((queue, dict(pauses)))


@pytest.fixture
def tracker() -> Tracker:
    return Tracker(MemoryStore(), page_bits=8)


@pytest.fixture
def item(tracker: Tracker) -> str:
    batch = tracker.open(TENANT, OpenBatch()).batch_id
    return f"{batch}:{tracker.add(TENANT, batch, 1).groups[0].id}:0"


def adapter(tracker: Tracker, hidden: Hidden, tenant: str = TENANT) -> Adapter:
    transport = DirectTransport(tracker, tenant)
    return Adapter(transport, ack_of=dead_letter_message_ack, hide=hidden, chance=lambda: 0.0)


def test_a_message_in_order_holds_up_its_group_for_minutes_only(tracker: Tracker) -> None:
    hidden = Hidden()
    adapter(tracker, hidden).settle(delivery(UNKNOWN, receives=50, queue=f"{DEAD}.fifo"))

    assert hidden.asked == [(f"{DEAD}.fifo", {"receipt-0": LONGEST_PAUSE_IN_ORDER_SECONDS})]


def isolating(tracker: Tracker, hidden: Hidden, accepts: int) -> tuple[Adapter, list[str]]:
    """An adapter whose dead-letter queue accepts that many messages, and the bodies that were sent to it."""
    dead: list[str] = []

    def isolate(records: Any) -> list[str]:
        sent = [record["messageId"] for record in records[:accepts]]
        dead.extend(record["body"] for record in records[:accepts])
        return sent

    transport = DirectTransport(tracker, TENANT)
    ack_of = dead_letter_message_ack
    return Adapter(transport, ack_of=ack_of, hide=hidden, isolate=isolate, chance=lambda: 0.0), dead


def test_a_message_that_the_dead_letter_queue_did_not_accept_returns(tracker: Tracker) -> None:
    hidden = Hidden()
    subject, dead = isolating(tracker, hidden, accepts=1)

    settled = subject.settle(delivery("?", UNKNOWN, receives=TRIES, queue=DEAD))

    assert dead == ["?"]
    assert settled.failed == ["message-1"]
    assert [pauses.keys() for _, pauses in hidden.asked] == [{"receipt-1"}]


def test_a_valid_ack_is_never_isolated_however_often_it_was_received(
    tracker: Tracker, item: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: Any) -> None:
        raise StoreUnavailable("the store is busy; ask again")

    monkeypatch.setattr(tracker, "ack", down)
    subject, dead = isolating(tracker, Hidden(), accepts=10)

    assert subject.settle(delivery(item, receives=119, queue=DEAD)).failed == ["message-0"]
    assert dead == []
