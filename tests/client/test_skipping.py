"""Skip before work: no work of an item whose batch is over, or that is done, is started."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from fanin import Fanin, InvalidRequest, NewerSchema, Verdict
from fanin.client.consuming.consumer import Consumer
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from tests.client.conftest import TENANT, sqs_event
from tests.client.received import DELETED, received, some_seconds_later

UNKNOWN = "00000000-0000-4000-8000-00000000dead"


@dataclass
class Work:
    """A function that keeps the items it was called for."""

    items: list[str] = field(default_factory=list)

    def __call__(self, record):
        self.items.append(record["body"])


@pytest.fixture
def work():
    return Work()


def consumer(fanin, work, **options):
    return Consumer(fanin._transport, work, **options)


ENDINGS = {
    "CANCELLED": lambda fanin, batch, items: batch.cancel(),
    "FAILED": lambda fanin, batch, items: fanin.fail(items[1:2]),
    "COMPLETE": lambda fanin, batch, items: (batch.close(), fanin.ack(items)),
}


@pytest.mark.parametrize("state", ENDINGS)
def test_the_messages_of_a_batch_that_is_over_are_deleted_without_work(fanin, work, caplog, state):
    batch = fanin.open(max_failures=1)
    items = batch.add(3)
    ENDINGS[state](fanin, batch, items)
    before = batch.status()
    settled = consumer(fanin, work).settle(sqs_event(*items))
    (line,) = [each for each in caplog.records if each.name == "fanin"]

    assert (settled.response(), work.items, settled.acked) == (DELETED, [], [])
    assert {reason for _, reason in settled.skipped} == {state}
    assert (line.levelno, line.count, line.skipped[0]) == (
        logging.WARNING,
        3,
        {"messageId": "m0", "reason": state},
    )
    assert line.getMessage().startswith(
        f"batch {batch.id} is {state}, so 3 messages are deleted without work: "
    )
    assert "reopen it" in line.getMessage()
    assert batch.status() == before


# Items that are done.


def test_a_redelivered_item_that_is_done_is_not_worked_on_but_counts_as_acked(fanin, work, caplog):
    batch = fanin.open()
    items = batch.add(2)
    fanin.ack(items[:1])
    verdicts = []
    handler = fanin.acks(on_acked=verdicts.extend)(work)
    with caplog.at_level(logging.INFO, logger="fanin"):
        answered = [handler(received(item, 2), None) for item in items]

    assert answered == [DELETED] * 2
    assert work.items == [items[1]]
    assert [verdict for _, verdict in verdicts] == [Verdict.DUPLICATE, Verdict.ACCEPTED]
    assert [line.levelno for line in caplog.records if "without work" in line.getMessage()] == [logging.INFO]


# A long function.


def test_a_long_function_asks_whether_its_batch_is_over(fanin):
    batch, seen = fanin.open(), []
    item = batch.add(1)[0]

    def work(record):
        seen.append((fanin.is_over(), fanin.is_over(record["body"])))
        raise ValueError("again")

    fanin.acks(work)(received(item), None)
    batch.cancel()

    assert seen == [(False, False)]
    some_seconds_later(fanin)
    assert fanin.is_over(item) is True
    assert fanin.is_over(f"{UNKNOWN}:{UNKNOWN}:0") is True
    with pytest.raises(InvalidRequest):
        fanin.is_over("no item")


@dataclass
class UpgradedStore(MemoryStore):
    """A store in which a newer release wrote the batches *newer*."""

    newer: set = field(default_factory=set)

    def get(self, key):
        if key.batch_id in self.newer:
            raise NewerSchema(f"the batch {key} has schema version 2: upgrade fanin in this process")
        return super().get(key)


def test_only_the_messages_of_a_newer_batch_return_and_one_line_for_each_batch_says_why(caplog):
    store = UpgradedStore()
    fanin = Fanin(DirectTransport(Tracker(store, fresh_for=timedelta(0)), TENANT))
    old, first, second = (fanin.open() for _ in range(3))
    items = [*old.add(2), *first.add(2), *second.add(1), *old.add(1)]
    store.newer = {first.id, second.id}
    acked = []
    handler = fanin.acks(
        on_acked=lambda outcomes: acked.extend(record["messageId"] for record, _ in outcomes)
    )(lambda record: None)

    assert handler(sqs_event(*items), None) == {
        "batchItemFailures": [{"itemIdentifier": f"m{number}"} for number in (2, 3, 4)]
    }
    assert acked == ["m0", "m1", "m5"]
    lines = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [line.getMessage().partition(":")[0] for line in lines] == [
        "2 messages return to the queue, not started",
        "1 messages return to the queue, not started",
    ]
    assert all("upgrade fanin in this process" in line.getMessage() for line in lines)


@pytest.mark.parametrize(("options", "worked"), [({}, 1), ({"skip_done": True}, 0)])
def test_the_item_of_a_new_message_is_looked_at_if_asked_for(fanin, work, options, worked):
    batch = fanin.open()
    items = batch.add(2)
    fanin.ack(items[:1])

    assert fanin.acks(**options)(work)(received(items[0]), None) == DELETED
    assert len(work.items) == worked
