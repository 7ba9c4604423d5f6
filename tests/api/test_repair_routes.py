"""The contract of reopened batches, forced ends and deletes."""

from __future__ import annotations

from typing import Any

import pytest

from fanin.tracker.rules.model import BatchKey
from functions.wiring import tracking
from tests.api.conftest import TENANT
from tests.api.gateway import Answer, Gateway
from tests.api.test_lifecycle_routes import acked, keyed, opened, pages, ranged, shown

STRANGER = "00000000-0000-4000-8000-00000000dead"


def ended(
    gateway: Gateway, count: int = 20, failed: tuple[int, ...] = (3, 4, 9), **body: Any
) -> tuple[str, str]:
    """A cancelled batch with failed items."""
    batch_id, group = opened(gateway, count, **body)
    for index in failed:
        acked(gateway, ranged(batch_id, group, index, index, outcome="failure", reason="of a user"))
    gateway.send("POST", f"/v1/batches/{batch_id}/cancel", {"reason": "of a person"})
    return batch_id, group


def confirm(batch_id: str) -> None:
    """Note that the bus has the ending event, as the rule on the bus does."""
    tracker = tracking.tracker()
    batch = tracker.store.get(BatchKey(TENANT, batch_id))
    assert batch is not None
    tracker.confirm(batch)


def delete(gateway: Gateway, batch_id: str) -> Answer:
    return gateway.send("DELETE", f"/v1/batches/{batch_id}")


def test_failed_items_are_reopened_in_order(gateway: Gateway) -> None:
    origin, group = ended(gateway, userKey="k", labels={"a": "b"})
    answer = keyed(gateway, f"/v1/batches/{origin}/reopen", {"userKey": "again"})
    assert answer.status == 201, answer.text
    reopened = answer.body
    (new,) = reopened["groups"]
    first, *others = pages(gateway, f"/v1/batches/{reopened['batchId']}/origin", limit="1")

    assert (reopened["state"], reopened["total"], reopened["originBatchId"]) == ("CLOSED", 3, origin)
    assert first["pairs"] == [
        {"origin": {"groupId": group, "from": 3, "to": 4}, "item": {"groupId": new["id"], "from": 0, "to": 1}}
    ]
    assert [pair["item"]["from"] for page in others for pair in page["pairs"]] == [2]
    acked(gateway, ranged(reopened["batchId"], new["id"], 0, 2))
    document = shown(gateway, reopened["batchId"])
    assert (document["result"], document["originBatchId"], document["userKey"]) == (
        "succeeded",
        origin,
        "again",
    )
    assert document["labels"] == {"a": "b"}


def test_a_forced_end_takes_a_reason_and_names_the_caller(gateway: Gateway) -> None:
    batch_id, _ = opened(gateway)
    path = f"/v1/batches/{batch_id}/end"
    assert [gateway.send("POST", path, body).status for body in (None, {}, {"reason": ""})] == [400] * 3
    gateway.authorizer = {"iam": {"accountId": TENANT, "userArn": "arn:aws:iam::1:user/a"}}
    first = keyed(gateway, path, {"reason": "stuck"})
    again = gateway.send("POST", path, {"reason": "another"})

    assert first.status == 200, first.text
    assert first.body == again.body
    seen = shown(gateway, batch_id)
    for body in (first.body, seen):
        assert (body["state"], body["result"], body["reason"]) == ("FAILED", "forced", "stuck")
        assert body["endedBy"] == "arn:aws:iam::1:user/a"
    assert seen["isComplete"] is False
    assert keyed(gateway, path, {"reason": "another"}).status == 422
    assert gateway.send("POST", f"/v1/batches/{STRANGER}/end", {"reason": "stuck"}).status == 404


def test_a_deleted_batch_is_gone_for_every_reader(gateway: Gateway) -> None:
    batch_id, group = ended(gateway, userKey="k")
    assert delete(gateway, batch_id).status == 409
    confirm(batch_id)
    answers = [delete(gateway, batch_id) for _ in range(2)]

    assert [(answer.status, answer.body) for answer in answers] == [(200, {"batchId": batch_id})] * 2
    paths = ("", "/outstanding", "/failures", "/origin")
    assert {gateway.send("GET", f"/v1/batches/{batch_id}{path}").status for path in paths} == {404}
    posts = ("items", "close", "cancel", "notify", "reopen", "end")
    bodies = {"items": {"count": 1}, "end": {"reason": "r"}}
    sent = [gateway.send("POST", f"/v1/batches/{batch_id}/{post}", bodies.get(post)) for post in posts]
    assert {answer.status for answer in sent} == {404}
    for query in ({}, {"userKey": "k"}, {"state": "CANCELLED"}):
        assert gateway.send("GET", "/v1/batches", query=query).body["batches"] == []
    late = acked(gateway, ranged(batch_id, group, 0, 3))
    assert late["results"][0]["counts"] == {"expired": 4}


@pytest.mark.parametrize(
    "query", [{}, *({"endedBefore": at} for at in ("", "now", "2026-01-01", "2026-01-01T00:00:00"))]
)
def test_a_bulk_delete_needs_a_time_with_an_offset(gateway: Gateway, query: dict[str, str]) -> None:
    answer = gateway.send("DELETE", "/v1/batches", query=query)

    assert answer.status == 400
    assert answer.body["errors"][0]["field"] == "endedBefore"
