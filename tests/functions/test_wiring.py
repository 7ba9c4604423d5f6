"""What a deployed handler is made of, and what its requests cost; DynamoDB as moto plays it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from moto import mock_aws

from fanin.aws import clients
from functions.wiring import metered, tracking
from tests.api.gateway import JSON, Gateway
from tests.contract.tables import create_tables

CACHED = (clients.dynamodb, tracking.tracker, tracking.transport, tracking._store, metered.dynamodb)


@pytest.fixture
def deployed(environment: pytest.MonkeyPatch) -> Iterator[Gateway]:
    """The API over the tables that the environment names."""
    environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        environment.setenv(name, "none")
    environment.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        for cached in CACHED:
            cached.cache_clear()
        create_tables(clients.dynamodb())
        yield Gateway()
    for cached in CACHED:
        cached.cache_clear()


def sent(gateway: Gateway, path: str, body: object, key: str | None = None) -> dict[str, int]:
    """The requests to DynamoDB that one request to the API makes."""
    before = Counter(metered.meter.totals)
    answer = gateway.send("POST", path, body, {**JSON, "Idempotency-Key": key} if key else None)
    assert answer.status < 300, answer.text
    requests = Counter(metered.meter.totals) - before
    return {name: int(count) for name, count in requests.items() if name[0].isupper()}


def test_an_ack_is_one_read_and_one_write_and_a_key_one_write_more(deployed: Gateway) -> None:
    batch_id = deployed.send("POST", "/v1/batches", {}).body["batchId"]
    path = f"/v1/batches/{batch_id}/items"
    group = deployed.send("POST", path, {"count": 1000}).body["groups"][0]["id"]
    items = [f"{batch_id}:{group}:{index}" for index in range(3)]

    assert sent(deployed, "/v1/acks", {"items": items[:1]}) == {"GetItem": 1, "UpdateItem": 1}
    keyed = sent(deployed, "/v1/acks", {"items": items[1:]}, key="k")
    assert keyed == {"GetItem": 1, "UpdateItem": 1, "PutItem": 1}
