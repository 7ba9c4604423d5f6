"""The consumer of the acks queue."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from fanin.aws import clients
from fanin.client.transports.direct import DirectTransport
from fanin.errors import StoreUnavailable
from fanin.item_results.memory import MemoryObjects
from fanin.item_results.service import Results
from fanin.tracker import Ack, AckReport, OpenBatch, State, Tracker
from fanin.tracker.memory import MemoryStore
from functions import consume_acks
from functions.wiring import consuming, tracking
from tests.functions.deliveries import QUEUE, delivery, failed, metrics_in

TENANT = "111122223333"


class CountingTracker(Tracker):
    """A tracker that remembers what it was asked to ack, and can fail."""

    asked: list[Sequence[Ack]]
    down = False

    def ack(self, tenant: str, acks: Sequence[Ack], key: str | None = None) -> AckReport:
        self.asked.append(acks)
        if self.down:
            raise StoreUnavailable("the store is busy; ask again")
        return super().ack(tenant, acks)


@pytest.fixture
def tracker(environment: pytest.MonkeyPatch, memory: MemoryStore) -> CountingTracker:
    tracker = CountingTracker(memory, page_bits=8)
    tracker.asked = []
    environment.setattr(tracking, "transport", lambda: DirectTransport(tracker, TENANT))
    return tracker


def _items(
    tracker: Tracker, count: int, tenant: str = TENANT, results: bool = False
) -> tuple[str, list[str]]:
    batch_id = tracker.open(tenant, OpenBatch(results=results)).batch_id
    group = tracker.add(tenant, batch_id, count).groups[0].id
    return batch_id, [f"{batch_id}:{group}:{index}" for index in range(count)]


def _acked(tracker: Tracker, batch_id: str) -> int:
    return tracker.progress(tracker.get(TENANT, batch_id)).acked


def test_a_delivery_is_one_request_in_the_names_of_its_messages(tracker: CountingTracker) -> None:
    batch_id, items = _items(tracker, 20)

    assert failed(consume_acks.handler(delivery(*items), None)) == []
    assert _acked(tracker, batch_id) == 20
    (acks,) = tracker.asked
    assert [ack.caller for ack in acks] == [f"acks:message-{number}" for number in range(20)]


def test_an_ack_may_be_a_failure_with_its_reason(tracker: CountingTracker) -> None:
    batch_id, items = _items(tracker, 2)
    ack = {"itemId": items[1], "outcome": "failure", "reason": "kaputt 🎈"}
    consume_acks.handler(delivery(items[0], json.dumps(ack)), None)
    batch = tracker.get(TENANT, batch_id)

    assert (tracker.progress(batch).acked, batch.failed) == (2, 1)
    assert [sample.reason for sample in tracker.samples(batch)] == ["kaputt 🎈"]


def test_an_ack_may_have_the_result_of_its_item(tracker: CountingTracker) -> None:
    tracker.results = results = Results(MemoryObjects())
    batch_id, items = _items(tracker, 2, results=True)
    acks = [json.dumps({"itemId": item, "result": {"n": n, "of": "ä"}}) for n, item in enumerate(items)]
    assert failed(consume_acks.handler(delivery(*acks), None)) == []
    tracker.close(TENANT, batch_id, "me")
    index = results.gathered(tracker.get(TENANT, batch_id), tracker.store)

    assert index is not None
    assert list(results.read(index)) == [(item, {"n": n, "of": "ä"}) for n, item in enumerate(items)]


def test_a_result_goes_back_if_the_batch_keeps_none_and_the_items_of_others_are_acked(
    tracker: CountingTracker,
) -> None:
    batch_id, items = _items(tracker, 1)
    other, others = _items(tracker, 1)
    ack = json.dumps({"itemId": items[0], "result": 1})

    assert failed(consume_acks.handler(delivery(ack, others[0]), None)) == ["message-0"]
    assert (_acked(tracker, batch_id), _acked(tracker, other)) == (0, 1)


def test_a_stack_with_a_log_writes_acks_there_and_returns_those_with_a_result(
    tracker: CountingTracker, environment: pytest.MonkeyPatch
) -> None:
    batch_id, items = _items(tracker, 4)
    environment.setenv("FANIN_ACKS_LOG", "s3://logs/of/acks")
    consuming.settings.cache_clear()
    failure = json.dumps({"itemId": items[2], "outcome": "failure", "reason": "no picture"})
    result = json.dumps({"itemId": items[3], "result": 1})

    stored: list[dict[str, Any]] = []
    environment.setattr(
        clients, "s3", lambda: SimpleNamespace(put_object=lambda **put: stored.append(put) or {})
    )

    assert failed(consume_acks.handler(delivery(items[1], items[0], failure), None)) == []
    assert failed(consume_acks.handler(delivery(result), None)) == ["message-0"]

    (found,) = stored
    group = items[0].split(":")[1]
    assert found["Bucket"] == "logs"
    assert found["Key"].startswith(f"of/acks/batch_id={batch_id}/")
    assert [json.loads(line) for line in gzip.decompress(found["Body"]).splitlines()] == [
        {"group_id": group, "first": 0, "last": 1},
        {"group_id": group, "first": 2, "last": 2, "outcome": "failure", "reason": "no picture"},
    ]
    assert tracker.asked == []


def test_what_became_of_the_acks_is_measured(
    tracker: CountingTracker, capsys: pytest.CaptureFixture[str]
) -> None:
    _, items = _items(tracker, 3)
    consume_acks.handler(delivery(items[0], items[1], items[1], items[0][:-1] + "9", "malformed"), None)
    metrics = metrics_in(capsys.readouterr().out)

    assert (metrics["AcksAccepted"], metrics["AcksDuplicate"], metrics["AcksRefused"]) == ([2], [1], [])
    assert (metrics["AcksReturned"], metrics["AcksDropped"]) == ([2], [])


@pytest.mark.parametrize(
    "body",
    [
        "",
        "x",
        "{",
        "[]",
        "{}",
        '"<ITEM>"',
        '{"itemId": 7}',
        '{"itemId": "<ITEM>", "itemId": "<ITEM>"}',
        '{"itemId": "<ITEM>", "outcome": "maybe"}',
        '{"itemId": "<ITEM>", "outcome": null}',
        '{"itemId": "<ITEM>", "extra": "x"}',
        '{"itemId": "<ITEM>", "outcome": "failure", "result": 1}',
        '{"itemId": "<ITEM>", "result": "' + "x" * 65_535 + '"}',
        '{"itemId": "<ITEM>", "reason": "of a success"}',
        '{"itemId": "<ITEM>", "outcome": "failure", "reason": ""}',
        '{"itemId": "<ITEM>", "outcome": "failure", "reason": "a\\nb"}',
        '{"itemId": "<ITEM>", "outcome": "failure", "reason": "' + "x" * 513 + '"}',
        '{"outcome": "failure"}',
        "<ITEM>:evil",
        '{"itemId": "<ITEM>"' + " " * 2**20 + "}",
        "x" * 2**20,
        "[" * 100_000,
    ],
    ids=lambda body: body[:40],
)
def test_a_malformed_message_goes_back_alone(tracker: CountingTracker, body: str) -> None:
    batch_id, items = _items(tracker, 2)
    bad = body.replace("<ITEM>", items[1])

    assert failed(consume_acks.handler(delivery(items[0], bad, items[0]), None)) == ["message-1"]
    assert _acked(tracker, batch_id) == 1


def test_items_of_no_batch_of_the_tenant_return_and_change_nothing(
    tracker: CountingTracker,
    memory: MemoryStore,
    hidden: list[tuple[str, dict[str, int]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, foreign = _items(tracker, 1, tenant="another")
    _, items = _items(tracker, 1)
    beyond = items[0][:-1] + "7"
    forged = items[0][:-3] + ("0" if items[0][-3] != "0" else "1") + ":0"

    response = consume_acks.handler(delivery(foreign[0], beyond, forged), None)

    assert failed(response) == ["message-0", "message-1", "message-2"]
    assert not memory.stored_pages
    metrics = metrics_in(capsys.readouterr().out)
    assert (metrics["AcksDropped"], metrics["AcksReturned"], metrics["AcksRefused"]) == ([], [3], [])
    ((queue, pauses),) = hidden
    assert (queue, pauses.keys()) == (QUEUE, {"receipt-0", "receipt-1", "receipt-2"})


def test_a_store_out_of_reach_sends_the_delivery_back(tracker: CountingTracker) -> None:
    _, items = _items(tracker, 3)
    tracker.down = True

    response = consume_acks.handler(delivery(*items, "malformed"), None)

    assert sorted(failed(response)) == [f"message-{number}" for number in range(4)]


def test_the_same_delivery_again_changes_nothing(tracker: CountingTracker, memory: MemoryStore) -> None:
    batch_id, items = _items(tracker, 20)
    tracker.close(TENANT, batch_id, "a test")
    consume_acks.handler(delivery(*items), None)
    before = (dict(memory.batches), dict(memory.stored_pages))

    assert failed(consume_acks.handler(delivery(*items), None)) == []
    assert (memory.batches, memory.stored_pages) == before
    assert tracker.get(TENANT, batch_id).state is State.COMPLETE


def test_an_invalid_message_is_sent_to_the_dead_letter_queue_of_the_stack_at_its_fifth_receive(
    tracker: CountingTracker, environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent: list[str] = []
    environment.setattr(
        consuming, "isolate", lambda records: sent.extend(r["messageId"] for r in records) or sent
    )

    assert failed(consume_acks.handler(delivery("malformed", receives=4), None)) == ["message-0"]
    assert failed(consume_acks.handler(delivery("malformed", receives=5), None)) == []
    assert sent == ["message-0"]
    assert metrics_in(capsys.readouterr().out)["AcksReturned"] == [1]
