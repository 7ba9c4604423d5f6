"""What is reported of a batch that its failures end, and of how far it was, over HTTP and on the bus."""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema import Draft202012Validator

from tests.http.test_life import fail, opened
from tests.http.test_tracking import get, send

SCHEMA = Path(__file__).parents[2] / "docs" / "events.schema.json"


def shown(api, batch, **query):
    return json.loads(api.pool.request("GET", f"{api.url}/v1/batches/{batch}", fields=query).data)


def test_a_percentage_of_failures_ends_a_batch_at_its_close_with_an_event_of_what_is_left(api, bus):
    batch, items = opened(api, 20, maxFailurePercent=10, userKey="with a percentage")
    fail(api, items[3], items[9])
    assert get(api, batch)["state"] == "OPEN"
    status, refused = send(api, f"/v1/batches/{batch}/close", {})
    (event,) = bus.of(batch)
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
