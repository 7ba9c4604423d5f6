"""Black-box cases of reopened, forced and deleted batches, over HTTP against the local run."""

from __future__ import annotations

from tests.http.test_lifecycle import fail, listed, opened
from tests.http.test_tracking import ack, get, send

CALLER = "arn:aws:iam::000000000000:root"  # whom the emulator takes for the caller of its API


def test_failed_items_are_done_again_in_a_new_batch_of_which_the_event_names_the_origin(api, bus):
    origin, items = opened(api, 10, userKey="again")
    fail(api, items[2], items[5], items[6])
    send(api, f"/v1/batches/{origin}/cancel", {})
    status, reopened = send(api, f"/v1/batches/{origin}/reopen", {})
    pairs = [
        pair for page in listed(api, f"/v1/batches/{reopened['batchId']}/origin") for pair in page["pairs"]
    ]
    new = [f"{reopened['batchId']}:{reopened['groups'][0]['id']}:{index}" for index in range(3)]

    assert (status, reopened["total"], reopened["state"]) == (201, 3, "CLOSED")
    assert [(pair["origin"]["from"], pair["item"]["from"]) for pair in pairs] == [(2, 0), (5, 1)]
    assert ack(api, *new)[0] == ["accepted"] * 3
    event, *_ = bus.of(reopened["batchId"])
    assert (event["kind"], event["result"]) == ("BatchCompleted", "succeeded")
    assert (event["originBatchId"], event["userKey"]) == (origin, "again")


def test_a_forced_end_is_an_event_with_reason_and_principal(api, bus):
    batch, items = opened(api, 4)
    ack(api, items[0])
    status, answer = send(api, f"/v1/batches/{batch}/end", {"reason": "stuck"})
    event, *_ = bus.of(batch)

    assert (status, answer["state"], answer["result"]) == (200, "FAILED", "forced")
    assert (event["kind"], event["result"], event["reason"]) == ("BatchFailed", "forced", "stuck")
    assert event["endedBy"] == answer["endedBy"] == get(api, batch)["endedBy"] == CALLER
    assert (event["acked"], event["outstanding"]) == (1, 3)
