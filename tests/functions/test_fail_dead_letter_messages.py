"""A dead-letter queue: every message fails its item, so that no poison message keeps a batch open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanin.tracker import Ack, OpenBatch, State, Tracker
from functions import fail_dead_letter_messages
from tests.functions.conftest import TENANT
from tests.functions.deliveries import delivery, failed


@pytest.fixture
def batch(tracker: Tracker) -> tuple[str, list[str]]:
    """A closed batch of three items, the first of them done."""
    batch_id = tracker.open(TENANT, OpenBatch()).batch_id
    group = tracker.add(TENANT, batch_id, 3).groups[0].id
    tracker.close(TENANT, batch_id, "a test")
    items = [f"{batch_id}:{group}:{index}" for index in range(3)]
    tracker.ack(TENANT, [Ack.of(items[0], "c")])
    return batch_id, items


def messages(*bodies: str) -> dict[str, Any]:
    event = delivery(*bodies)
    for record in event["Records"]:
        source = "arn:aws:sqs:eu-west-1:111122223333:work"
        record["attributes"]["DeadLetterQueueSourceArn"] = source
    return event


def test_dead_letter_messages_end_their_batch_with_failures(
    tracker: Tracker, batch: tuple[str, list[str]]
) -> None:
    batch_id, items = batch
    response = fail_dead_letter_messages.handler(
        messages(items[1], json.dumps({"itemId": items[2], "sku": 1})), None
    )
    stored = tracker.get(TENANT, batch_id)

    assert failed(response) == []
    assert (stored.state, stored.result, stored.failed) == (State.COMPLETE, "completed_with_failures", 2)
    assert {(one.item_id, one.reason) for one in tracker.samples(stored)} == {
        (item, "dead-letter message of work") for item in items[1:]
    }


def test_a_dead_letter_message_of_an_acked_item_changes_nothing(
    tracker: Tracker, batch: tuple[str, list[str]]
) -> None:
    batch_id, items = batch

    assert failed(fail_dead_letter_messages.handler(messages(items[0]), None)) == []
    assert tracker.get(TENANT, batch_id).failed == 0


def test_a_dead_letter_message_without_a_source_queue_has_a_reason(
    tracker: Tracker, batch: tuple[str, list[str]]
) -> None:
    batch_id, items = batch
    fail_dead_letter_messages.handler(delivery(items[1]), None)

    assert [one.reason for one in tracker.samples(tracker.get(TENANT, batch_id))] == ["dead-letter message"]
