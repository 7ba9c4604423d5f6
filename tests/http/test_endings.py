"""What is reported of a batch that its failures end, and of how far it was, over HTTP and on the bus."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.http.test_lifecycle import fail, later, opened
from tests.http.test_tracking import ack, get, send

SCHEMA = Path(__file__).parents[2] / "docs" / "events.schema.json"


def shown(api, batch, **query):
    return json.loads(api.pool.request("GET", f"{api.url}/v1/batches/{batch}", fields=query).data)


def test_enough_successes_end_a_batch_and_its_event_status_and_refusals_say_so(api, bus):
    batch, items = opened(api, 5, minSucceeded=3, maxItems=5, userKey="enough")
    assert ack(api, *items[:2])[1] == []
    _, (mine,) = ack(api, items[2])
    event, *_ = bus.of(batch)
    found = get(api, batch)
    status, refused = send(api, f"/v1/batches/{batch}/items", {"count": 1})
    detail = {name: value for name, value in event.items() if name != "kind"}

    assert (mine["result"], mine["completedByYou"]) == ("enough", True)
    assert [event[name] for name in ("kind", "result", "minSucceeded", "reached")] == [
        *("BatchCompleted", "enough", 3, 3)
    ]
    assert [found[name] for name in ("state", "result", "minSucceeded", "reached")] == [
        *("COMPLETE", "enough", 3, 3)
    ]
    assert (event["acked"], event["outstanding"], event["closedAt"]) == (3, 2, None)
    assert (status, refused["batch"]["result"]) == (409, "enough")
    assert ack(api, items[3]) == (["late"], [])
    assert list(Draft202012Validator(json.loads(SCHEMA.read_text())).iter_errors(detail)) == []


@pytest.mark.parametrize(
    ("count", "sentence"),
    [(2, "takes at most 6 items and has 5: 2 more would pass that"), (10**6, "may cost $0.5")],
)
def test_an_add_that_would_pass_a_cap_is_a_conflict_with_a_sentence(api, count, sentence):
    batch, _ = opened(api, 5, maxCost=0.5, **({"maxItems": 6} if count == 2 else {}))
    status, problem = send(api, f"/v1/batches/{batch}/items", {"count": count})

    assert (status, problem["type"], get(api, batch)["total"]) == (409, "urn:fanin:problem:conflict", 5)
    assert sentence in problem["detail"]
    assert send(api, f"/v1/batches/{batch}/items", {"count": 1})[0] == 201
    for wrong in ({"maxCost": 0}, {"maxCost": True}, {"maxCost": "1"}, {"maxCost": 1e300}, {"maxItems": 0}):
        assert send(api, "/v1/batches", wrong)[0] == 400


@pytest.mark.parametrize(
    ("options", "failed", "last", "result"),
    [
        ({"maxFailurePercent": 20, "failureSample": 10}, 2, "ack", "too_many_failures"),
        ({"minSucceeded": 8}, 2, "ack", "enough"),
        ({"minSucceededPercent": 40}, 2, "close", "enough"),
    ],
)
def test_the_sweep_counts_the_pages_of_a_batch_and_ends_it_at_its_bound_not_before(
    api, bus, tracker, options, failed, last, result
):
    batch, items = opened(api, 20, **options)
    fail(api, *items[:failed])
    ack(api, *items[failed : 9 if last == "ack" else 10])
    later(tracker, timedelta(minutes=2)).sweep()
    before = get(api, batch)["state"]
    if last == "ack":
        ack(api, items[9])
    else:
        send(api, f"/v1/batches/{batch}/close", {})
    later(tracker, timedelta(minutes=4)).sweep()
    event, *_ = bus.of(batch)

    assert before == "OPEN"
    assert (event["result"], event["failed"], event["acked"]) == (result, failed, 10)


def test_a_percentage_of_failures_ends_a_batch_at_its_close_with_an_event_of_what_is_left(api, bus):
    batch, items = opened(api, 20, maxFailurePercent=10, userKey="with a percentage")
    fail(api, items[3], items[9])
    assert get(api, batch)["state"] == "OPEN"
    status, refused = send(api, f"/v1/batches/{batch}/close", {})
    event, *_ = bus.of(batch)
    detail = {name: value for name, value in event.items() if name != "kind"}

    assert (status, refused["batch"]["state"], refused["batch"]["result"]) == (
        409,
        "FAILED",
        "too_many_failures",
    )
    assert (event["kind"], event["result"], event["completedAt"]) == (
        "BatchFailed",
        "too_many_failures",
        None,
    )
    assert (event["acked"], event["failed"], event["outstanding"], event["exact"]) == (2, 2, 18, True)
    assert [(part["from"], part["to"]) for part in event["ranges"]] == [(0, 2), (4, 8), (10, 19)]
    assert not event["moreRanges"]
    assert list(Draft202012Validator(json.loads(SCHEMA.read_text())).iter_errors(detail)) == []
