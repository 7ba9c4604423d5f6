"""Black-box cases over HTTP against the local run. T-numbers are those of docs/peers.md."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from lab.local.races import ack_against_ack, close_against_ack, rounds

PAGE = 4
UNKNOWN = "00000000-0000-4000-8000-00000000dead"


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


def test_t1_a_new_batch_is_open_and_not_complete(api):
    batch, _ = api.opened(1)
    found = get(api, batch)

    assert (found["state"], found["isClosed"], found["isComplete"]) == ("OPEN", False, False)


@pytest.mark.parametrize("total", [0, 1, 63, 64, 65, PAGE - 1, PAGE, PAGE + 1, PAGE * PAGE + 1])
def test_t2_t3_a_batch_of_any_size_completes_exactly_once(api, total):
    batch = api.post("/v1/batches", {})["batchId"]
    items = []
    if total:
        group = api.post(f"/v1/batches/{batch}/items", {"count": total})["groups"][0]
        items = [f"{batch}:{group['id']}:{index}" for index in range(total)]
    random.Random(total).shuffle(items)
    told = api.close(batch) + sum(api.ack(*items[at : at + 10]) for at in range(0, total, 10))

    assert told == 1
    assert get(api, batch)["state"] == "COMPLETE"


def test_t5_all_acked_while_open_tells_close_alone(api):
    batch, items = api.opened(10)
    told = [api.ack(item) for item in items]

    assert sum(told) == 0
    assert api.close(batch) == 1


def test_t7_an_add_after_close_is_409_and_the_total_stays(api):
    batch, _ = api.opened(3)
    api.close(batch)
    status, problem = send(api, f"/v1/batches/{batch}/items", {"count": 1})

    assert (status, problem["status"]) == (409, 409)
    assert get(api, batch)["total"] == 3


def test_t8_the_user_key_comes_back_unchanged(api):
    key = "käse 🎈 " + "x" * 248
    batch = api.post("/v1/batches", {"userKey": key})["batchId"]
    answer = api.post(f"/v1/batches/{batch}/close", {})

    assert answer["userKey"] == get(api, batch)["userKey"] == key


def test_t9_many_concurrent_acks_tell_exactly_one(api):
    batch, items = api.opened(200)
    api.close(batch)
    with ThreadPoolExecutor(8) as pool:
        told = sum(pool.map(lambda at: api.ack(*items[at : at + 5]), range(0, 200, 5)))

    assert told == 1
    assert get(api, batch)["isComplete"]


@pytest.mark.parametrize("race", [close_against_ack, ack_against_ack])
def test_t10_t11_races_tell_exactly_once(api, race):
    assert rounds(api, race, 20) == {"1 completions, complete": 20}


def test_t12_nothing_completes_twice(api):
    batch, items = api.opened(6)
    api.close(batch)
    api.ack(*items)
    again = [ack(api, item) for item in items]

    assert again == [(["duplicate"], [])] * 6
    assert api.close(batch) == 0


def test_t14_an_add_that_races_close_is_refused_or_counted(api):
    for _ in range(10):
        batch, items = api.opened(1)
        api.ack(*items)
        with ThreadPoolExecutor(2) as pool:
            adding = pool.submit(send, api, f"/v1/batches/{batch}/items", {"count": 2})
            closing = pool.submit(api.close, batch)
            (status, _), told = adding.result(), closing.result()

        assert get(api, batch)["total"] == (3 if status == 201 else 1)
        assert told == (0 if status == 201 else 1)


def test_t15_a_retried_add_is_the_same_group(api):
    batch, _ = api.opened(1)
    first = send(api, f"/v1/batches/{batch}/items", {"count": 100}, key="x")

    assert send(api, f"/v1/batches/{batch}/items", {"count": 100}, key="x") == first
    assert send(api, f"/v1/batches/{batch}/items", {"count": 99}, key="x")[0] == 422
    assert get(api, batch)["total"] == 101


def test_t16_a_retried_open_is_the_same_batch(api):
    key = uuid4().hex

    assert send(api, "/v1/batches", {"userKey": "a"}, key) == send(api, "/v1/batches", {"userKey": "a"}, key)
    assert send(api, "/v1/batches", {"userKey": "b"}, key)[0] == 422


def test_t17_an_item_of_one_batch_under_the_id_of_another_changes_neither(api):
    (one, _), (two, items) = api.opened(3), api.opened(3)

    assert ack(api, f"{one}:{items[0].split(':')[1]}:0") == (["not_found"], [])
    assert get(api, one)["progress"]["acked"] == get(api, two)["progress"]["acked"] == 0


@pytest.mark.parametrize("index", ["-1", "x", "", "05", "1e1", str(2**64)])
def test_t18_an_index_that_is_none_is_refused(api, index):
    batch, items = api.opened(10)
    status, _ = send(api, "/v1/acks", {"items": [f"{batch}:{items[0].split(':')[1]}:{index}"]})

    assert status == 400
    assert get(api, batch)["progress"]["acked"] == 0


@pytest.mark.parametrize("index", [10, 40, 64, 2**32])
def test_t18_an_index_beyond_the_group_is_out_of_range(api, index):
    batch, items = api.opened(10)

    assert ack(api, f"{batch}:{items[0].split(':')[1]}:{index}") == (["out_of_range"], [])
    assert get(api, batch)["progress"]["acked"] == 0


def test_t19_a_mixed_ack_has_a_verdict_an_item(api):
    (one, items), (two, others) = api.opened(5), api.opened(2)
    ack(api, items[0])
    verdicts, _ = ack(api, others[1], items[0], f"{UNKNOWN}:{items[0].split(':')[1]}:0", items[4])

    assert verdicts == ["accepted", "duplicate", "not_found", "accepted"]
    assert (get(api, one)["progress"]["acked"], get(api, two)["progress"]["acked"]) == (2, 1)


def test_t20_an_unknown_batch_is_404(api):
    calls = [
        send(api, f"/v1/batches/{UNKNOWN}/{what}", body)
        for what, body in (("items", {"count": 1}), ("close", {}))
    ]

    assert [status for status, _ in calls] == [404, 404]
    assert get(api, UNKNOWN)["status"] == 404
    assert ack(api, f"{UNKNOWN}:{UNKNOWN}:0")[0] == ["not_found"]


@pytest.mark.parametrize("count", [0, -5, 2**36 + 1, 1.5, "64", True, None])
def test_t21_a_count_that_is_none_is_refused(api, count):
    batch, _ = api.opened(1)

    assert send(api, f"/v1/batches/{batch}/items", {"count": count})[0] == 400
    assert get(api, batch)["total"] == 1


def test_t23_a_retry_of_the_last_ack_hears_of_the_completion_again(api):
    batch, items = api.opened(2)
    api.close(batch)
    ack(api, items[0])
    first = ack(api, items[1], key="last")

    assert [done["batchId"] for done in first[1]] == [batch]
    assert ack(api, items[1], key="last") == (["duplicate"], first[1])
    assert ack(api, items[1], key="another") == (["duplicate"], [])


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


def test_t38_a_guessed_neighbour_cannot_be_acked(api):
    batch, items = api.opened(4)
    group = items[0].split(":")[1]
    forged = [
        f"{batch}:{group[:at]}{'0' if group[at] != '0' else '1'}{group[at + 1 :]}:0" for at in (0, 5, 20, 35)
    ]

    assert ack(api, *forged)[0] == ["not_found"] * 4
    assert get(api, batch)["progress"]["acked"] == 0
