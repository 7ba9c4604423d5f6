"""Black-box cases over HTTP against the local run, beside test_conformance. T-numbers: as its cases."""

from __future__ import annotations

import json
import random

import pytest

PAGE = 4


def get(api, batch):
    return json.loads(api.pool.request("GET", f"{api.url}/v1/batches/{batch}").data)


def send(api, path, body, key=None):
    headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    answer = api.pool.request("POST", api.url + path, body=json.dumps(body), headers=headers)
    return answer.status, json.loads(answer.data)


def ack(api, *items, key=None):
    status, answer = send(api, "/v1/acks", {"items": list(items)}, key)
    assert status == 200, answer
    return [result["verdict"] for result in answer["results"]], answer["completions"]


@pytest.mark.parametrize("total", [0, 1, 63, 64, 65, PAGE - 1, PAGE, PAGE + 1, PAGE * PAGE + 1])
def test_t2_t3_a_batch_of_any_size_completes_exactly_once(api, total):
    batch = api.post("/v1/batches", {})["batchId"]
    items = []
    if total:
        group = api.post(f"/v1/batches/{batch}/items", {"count": total})["groups"][0]
        items = [f"{batch}:{group['id']}:{index}" for index in range(total)]
    random.Random(total).shuffle(items)
    reported = api.close(batch) + sum(api.ack(*items[at : at + 10]) for at in range(0, total, 10))

    assert reported == 1
    assert get(api, batch)["state"] == "COMPLETE"


def test_a_billion_items_are_one_request_and_the_last_of_them_can_be_acked(api, run):
    batch, _ = api.opened(1)
    group = api.post(f"/v1/batches/{batch}/items", {"count": 10**9})["groups"][0]
    rows = rows_of(run, batch)

    assert ack(api, f"{batch}:{group['id']}:{10**9 - 1}") == (["accepted"], [])
    assert sorted(rows) == sorted(
        ["batch", "group#0000000000000", "group#0000000000001", *rows_named(rows, "add#")]
    )
    assert len(rows_named(rows, "add#")) == 2
    assert get(api, batch)["total"] == 10**9 + 1


def rows_of(run, batch):
    """The sort keys of all rows that the batches table holds of a batch."""
    asked = {
        "TableName": run.outputs["BatchesTable"],
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": f"000000000000#{batch}"}},
    }
    return [row["sk"]["S"] for row in run.client("dynamodb").query(**asked)["Items"]]


def rows_named(rows, start):
    return [row for row in rows if row.startswith(start)]
