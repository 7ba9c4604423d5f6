"""The contract of the five routes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from fanin.tracker import State
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import BatchKey
from tests.api.conftest import AT, TENANT
from tests.api.gateway import JSON, Answer, Gateway
from tests.api.test_lifecycle_routes import opened

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def _keyed(key: str) -> dict[str, str]:
    return {**JSON, "Idempotency-Key": key}


def _opened(gateway: Gateway, **body: Any) -> str:
    batch_id: str = gateway.send("POST", "/v1/batches", body).body["batchId"]
    return batch_id


def _added(gateway: Gateway, batch_id: str, count: int, key: str | None = None) -> Answer:
    headers = _keyed(key) if key else None
    return gateway.send("POST", f"/v1/batches/{batch_id}/items", {"count": count}, headers)


def _closed(gateway: Gateway, batch_id: str, key: str | None = None) -> Answer:
    return gateway.send("POST", f"/v1/batches/{batch_id}/close", {}, _keyed(key) if key else None)


def _acked(gateway: Gateway, items: list[str], key: str | None = None) -> Answer:
    return gateway.send("POST", "/v1/acks", {"items": items}, _keyed(key) if key else None)


def _batch_of(gateway: Gateway, count: int) -> tuple[str, list[str]]:
    batch_id = _opened(gateway, userKey="a catalog")
    group = _added(gateway, batch_id, count).body["groups"][0]
    return batch_id, [f"{batch_id}:{group['id']}:{index}" for index in range(count)]


def test_get_answers_an_open_batch_without_what_has_not_happened(gateway: Gateway) -> None:
    batch_id, items = _batch_of(gateway, 10)
    _acked(gateway, items[:4])
    body = gateway.send("GET", f"/v1/batches/{batch_id}").body

    created, expires = body.pop("createdAt"), body.pop("expiresAt")
    assert INSTANT.fullmatch(created)
    assert INSTANT.fullmatch(expires)
    assert body == {
        "batchId": batch_id,
        "userKey": "a catalog",
        "mode": "exact",
        "state": "OPEN",
        "isClosed": False,
        "isComplete": False,
        "total": 10,
        "failed": 0,
        "progress": {"acked": 4, "failed": 0, "estimate": 4, "upperBound": 4, "exact": True},
        "retryAfterSeconds": 1.0,
    }


def test_get_without_progress_reads_no_page(
    gateway: Gateway, memory: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch_id, items = _batch_of(gateway, 10)
    _acked(gateway, items[:4])
    whole = gateway.send("GET", f"/v1/batches/{batch_id}").body
    monkeypatch.setattr(memory, "pages", None)
    bare = gateway.send("GET", f"/v1/batches/{batch_id}", query={"progress": "none"})

    assert (bare.status, bare.body) == (
        200,
        {name: whole[name] for name in whole if name not in {"progress", "retryAfterSeconds"}},
    )
    assert gateway.send("GET", f"/v1/batches/{batch_id}", query={"progress": "some"}).status == 400


def test_a_repeated_close_is_answered_the_same(gateway: Gateway) -> None:
    batch_id = _opened(gateway)
    first, again = (_closed(gateway, batch_id, key="k") for _ in range(2))

    assert (again.status, again.body) == (200, first.body)


def test_ack_answers_a_verdict_for_each_item_in_order(gateway: Gateway) -> None:
    batch_id, items = _batch_of(gateway, 3)
    other, _ = _batch_of(gateway, 3)
    group = items[0].split(":")[1]
    asked = [items[1], items[1], f"{batch_id}:{group}:3", f"{other}:{group}:0", f"{batch_id}:{other}:0"]
    answer = _acked(gateway, asked)

    verdicts = ["accepted", "duplicate", "out_of_range", "not_found", "not_found"]
    results = [{"itemId": item, "verdict": verdict} for item, verdict in zip(asked, verdicts, strict=True)]
    assert answer.status == 200
    assert answer.body == {"results": results, "completions": []}


def test_a_range_is_answered_with_counts_of_each_verdict(gateway: Gateway) -> None:
    batch_id, items = _batch_of(gateway, 10)
    group = items[0].split(":")[1]
    _acked(gateway, items[:3])
    where = {"batchId": batch_id, "groupId": group, "from": 0, "to": 7}
    answer = gateway.send("POST", "/v1/acks", {"acks": [{"itemId": items[9]}, where, {**where, "to": 10}]})

    assert answer.body["results"] == [
        {"itemId": items[9], "verdict": "accepted"},
        {**where, "counts": {"accepted": 5, "duplicate": 3}},
        {**where, "to": 10, "counts": {"out_of_range": 11}},
    ]


def test_a_body_in_base64_is_a_body(gateway: Gateway) -> None:
    answer = gateway.send("POST", "/v1/batches", '{"userKey":"ü"}'.encode())

    assert answer.body["userKey"] == "ü"


def test_headers_of_others_have_no_effect(gateway: Gateway) -> None:
    spoofed = {**JSON, "X-Tenant": "x", "X-HTTP-Method-Override": "DELETE", "X-Forwarded-For": "1.2.3.4"}

    assert gateway.send("POST", "/v1/batches", {}, spoofed).status == 201


TYPES = {
    State.COMPLETE: "BatchCompleted",
    State.FAILED: "BatchFailed",
    State.CANCELLED: "BatchCancelled",
    State.TIMED_OUT: "BatchTimedOut",
}


@pytest.mark.parametrize("query", [None, {"progress": "none"}])
@pytest.mark.parametrize("state", State)
def test_the_event_is_that_of_the_state(
    gateway: Gateway, memory: MemoryStore, state: State, query: dict[str, str] | None
) -> None:
    batch_id, _ = opened(gateway)
    key = BatchKey(TENANT, batch_id)
    memory.batches[key] = replace(memory.batches[key], state=state)
    answer = gateway.send("GET", f"/v1/batches/{batch_id}", query=query)

    if state is State.EXPIRED:
        assert answer.status == 404
    elif state in TYPES:
        event = {"eventId": f"{batch_id}:{state}", "type": TYPES[state], "confirmed": False}
        assert answer.body["event"] == event
        memory.confirm(key, AT)
        again = gateway.send("GET", f"/v1/batches/{batch_id}", query=query)
        assert again.body["event"] == event | {"confirmed": True}
    else:
        assert "event" not in answer.body
