"""The contract of failures, endings and lists."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.gateway import JSON, Answer, Gateway


def opened(gateway: Gateway, count: int = 10, **body: Any) -> tuple[str, str]:
    """A batch of *count* items in one group."""
    answer = gateway.send("POST", "/v1/batches", body)
    assert answer.status == 201, answer.text
    batch_id = answer.body["batchId"]
    added = gateway.send("POST", f"/v1/batches/{batch_id}/items", {"count": count}).body
    return batch_id, added["groups"][0]["id"]


def ranged(batch_id: str, group: str, first: int, last: int, **more: Any) -> dict[str, Any]:
    return {"batchId": batch_id, "groupId": group, "from": first, "to": last, **more}


def acked(gateway: Gateway, *acks: dict[str, Any]) -> Any:
    answer = gateway.send("POST", "/v1/acks", {"acks": list(acks)})
    assert answer.status == 200, answer.text
    return answer.body


def shown(gateway: Gateway, batch_id: str) -> Any:
    return gateway.send("GET", f"/v1/batches/{batch_id}").body


def pages(gateway: Gateway, path: str, **query: str) -> list[Any]:
    """All pages of a list, as far as cursors lead."""
    found = [gateway.send("GET", path, query=query).body]
    while "cursor" in found[-1]:
        found.append(gateway.send("GET", path, query={**query, "cursor": found[-1]["cursor"]}).body)
    return found


def keyed(gateway: Gateway, path: str, body: Any, key: str = "k") -> Answer:
    return gateway.send("POST", path, body, {**JSON, "Idempotency-Key": key})


def test_failures_are_listed_as_ranges_with_reasons_on_the_first_page(gateway: Gateway) -> None:
    batch_id, group = opened(gateway, 20)
    for first, last in ((1, 3), (7, 12), (15, 15)):
        acked(gateway, ranged(batch_id, group, first, last, outcome="failure", reason=f"r{first}"))
    first, second = pages(gateway, f"/v1/batches/{batch_id}/failures", limit="2")

    assert first["ranges"] == [{"groupId": group, "from": a, "to": b} for a, b in ((1, 3), (7, 12))]
    assert second["ranges"] == [{"groupId": group, "from": 15, "to": 15}]
    assert {(f"{batch_id}:{group}:{index}", f"r{index}") for index in (1, 7, 15)} <= {
        (one["itemId"], one["reason"]) for one in first["samples"]
    }
    assert second["samples"] == []


def test_cancel_ends_a_batch_and_says_why(gateway: Gateway) -> None:
    batch_id, group = opened(gateway, 3, userKey="x")
    path = f"/v1/batches/{batch_id}/cancel"
    answer = gateway.send("POST", path, {"reason": "no longer wanted"})
    body = answer.body
    ended_at = body.pop("endedAt")

    assert answer.status == 200
    assert body == {
        "batchId": batch_id,
        "userKey": "x",
        "state": "CANCELLED",
        "total": 3,
        "result": "cancelled",
        "reason": "no longer wanted",
    }
    assert shown(gateway, batch_id)["endedAt"] == ended_at
    assert gateway.send("POST", path, {}).body["reason"] == "no longer wanted"
    assert acked(gateway, ranged(batch_id, group, 0, 1))["results"][0]["counts"] == {"cancelled": 2}
    assert gateway.send("POST", f"/v1/batches/{batch_id}/items", {"count": 1}).status == 409


@pytest.mark.parametrize("route", ["cancel", "end"])
def test_a_complete_batch_is_not_ended_otherwise(gateway: Gateway, route: str) -> None:
    batch_id = gateway.send("POST", "/v1/batches", {}).body["batchId"]
    gateway.send("POST", f"/v1/batches/{batch_id}/close", {})
    answer = gateway.send("POST", f"/v1/batches/{batch_id}/{route}", {"reason": "x"})

    assert (answer.status, answer.body["type"]) == (409, "urn:fanin:problem:batch-ended")
    assert answer.body["batch"] == {"batchId": batch_id, "state": "COMPLETE", "result": "succeeded"}


def test_notify_answers_the_id_of_the_event_that_is_sent_again(gateway: Gateway) -> None:
    batch_id, _ = opened(gateway)
    path = f"/v1/batches/{batch_id}/notify"
    assert gateway.send("POST", path, {}).status == 409
    gateway.send("POST", f"/v1/batches/{batch_id}/cancel", {})
    answer = gateway.send("POST", path, {})

    assert answer.status == 202
    assert answer.body == {"batchId": batch_id, "state": "CANCELLED", "eventId": f"{batch_id}:CANCELLED"}


def test_a_listed_batch_says_all_but_its_progress(gateway: Gateway) -> None:
    batch_id, _ = opened(gateway, userKey="x", maxFailures=3, deadlineSeconds=60)
    (listed,) = gateway.send("GET", "/v1/batches", query={"limit": "100"}).body["batches"]
    whole = shown(gateway, batch_id)

    assert whole.pop("progress")
    assert whole.pop("retryAfterSeconds")
    assert listed == whole


CASES = {
    "open": ("/v1/batches", {"userKey": "x"}, {"userKey": "y"}),
    "cancel": ("/v1/batches/{batch}/cancel", {"reason": "x"}, {"reason": "y"}),
    "close": ("/v1/batches/{batch}/close", {}, {}),
    "notify": ("/v1/batches/{ended}/notify", {}, {}),
    "acks": ("/v1/acks", {"items": ["{item}"]}, {"items": ["{other}"]}),
    "outcome": ("/v1/acks", {"items": ["{item}"]}, {"acks": [{"itemId": "{item}", "outcome": "failure"}]}),
}


@pytest.fixture
def names(gateway: Gateway) -> dict[str, str]:
    batch, group = opened(gateway)
    ended, second = ((opened(gateway)[0]) for _ in range(2))
    for batch_id in (ended, second):
        gateway.send("POST", f"/v1/batches/{batch_id}/cancel", {})
    return {
        "batch": batch,
        "ended": ended,
        "second": second,
        "item": f"{batch}:{group}:0",
        "other": f"{batch}:{group}:1",
    }


def filled(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: filled(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, names) for one in value]
    return value.format(**names)


@pytest.mark.parametrize("case", ["open", "cancel", "acks", "outcome"])
def test_a_key_with_another_payload_is_refused_and_does_nothing(
    gateway: Gateway, names: dict[str, str], case: str
) -> None:
    path, body, other = CASES[case]
    keyed(gateway, filled(path, names), filled(body, names))
    before = shown(gateway, names["batch"])
    answer = keyed(gateway, filled(path, names), filled(other, names))

    assert (answer.status, answer.body["type"]) == (422, "urn:fanin:problem:key-reused")
    assert shown(gateway, names["batch"]) == before


def test_the_same_key_on_another_route_is_another_key(gateway: Gateway, names: dict[str, str]) -> None:
    statuses = [
        keyed(gateway, filled(path, names), filled(body, names)).status
        for path, body, _ in (CASES["acks"], CASES["close"], CASES["cancel"], CASES["notify"])
    ]

    assert statuses == [200, 200, 200, 202]


def test_a_window_has_the_outstanding_and_the_failed_items_of_one_range(gateway: Gateway) -> None:
    batch_id, group = opened(gateway, 20)
    acked(gateway, ranged(batch_id, group, 3, 9))
    acked(gateway, ranged(batch_id, group, 10, 11, outcome="failure"))
    path, window = f"/v1/batches/{batch_id}", {"groupId": group, "from": "2", "to": "12"}
    outstanding = gateway.send("GET", f"{path}/outstanding", query=window).body
    failures = gateway.send("GET", f"{path}/failures", query=window).body

    remaining = [{"groupId": group, "from": 2, "to": 2}, {"groupId": group, "from": 12, "to": 12}]
    assert outstanding == {"ranges": remaining}
    assert failures == {"ranges": [{"groupId": group, "from": 10, "to": 11}], "samples": []}


def test_a_map_has_the_done_items_and_the_failures_of_each_cell(gateway: Gateway) -> None:
    batch_id, group = opened(gateway, 20)
    acked(gateway, ranged(batch_id, group, 0, 6), ranged(batch_id, group, 9, 10, outcome="failure"))
    path = f"/v1/batches/{batch_id}/map"

    assert gateway.send("GET", path, query={"cells": "5"}).body == {
        "from": 0,
        "to": 20,
        "cellItems": 4,
        "acked": [4, 3, 2, 0, 0],
        "failed": [0, 0, 1, 0, 0],
        "exact": True,
    }
    window = gateway.send("GET", path, query={"from": "6", "to": "11"}).body
    assert window == {
        "from": 6,
        "to": 11,
        "cellItems": 1,
        "acked": [1, 0, 0, 1, 1],
        "failed": [0, 0, 0, 1, 1],
        "exact": True,
    }
    assert gateway.send("GET", path).body["cellItems"] == 1


BAD = {
    "cells": ["0", "1025", "-1", "01", "+5", " 5", "1.0", "1e2", "", "five", "\u0665", "9" * 400],
    "from": ["-1", "00", "x", "", str(2**40), "1,2"],
    "to": ["0", "-1", "01", "", str(2**40 + 1), "null"],
    "limit": ["5"],
    "progress": ["none"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD for value in BAD[name]])
def test_a_parameter_out_of_form_is_refused_by_its_name(gateway: Gateway, name: str, value: str) -> None:
    batch_id, _ = opened(gateway, 5)
    answer = gateway.send("GET", f"/v1/batches/{batch_id}/map", query={name: value})

    assert answer.status == 400
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert [each["field"] for each in answer.body["errors"]] == [name]
