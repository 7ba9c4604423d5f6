"""A tenant's batch, opened with its JWT: acks from queues reach it where the queue is of that tenant."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from fanin.client.transports.direct import DirectTransport
from fanin.settings.settings_file import VARIABLE, SettingsFile
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from functions import consume_acks, fail_dead_letter_messages
from functions.wiring import tracking
from tests.api.gateway import Gateway
from tests.functions.deliveries import delivery, failed

ACCOUNT = "111122223333"
DEAD_LETTER_QUEUE = "arn:aws:sqs:eu-west-1:111122223333:orders-dead"
OF_ACCOUNT = "arn:aws:sqs:eu-west-1:111122223333:mails-dead"


def caller(tenant: str, name: str = "worker") -> Gateway:
    claims = {"sub": name, "org": tenant, "iss": "https://issuer.example.com/"}
    return Gateway({"jwt": {"claims": claims, "scopes": None}})


@pytest.fixture(autouse=True)
def deployed(environment: pytest.MonkeyPatch, memory: MemoryStore) -> None:
    """A stack with ``jwt_tenant_claim=org``, ``acks_tenant=acme`` and a dead-letter queue of acme's."""
    environment.setenv("FANIN_ALLOW_ANONYMOUS", "false")
    environment.setenv("FANIN_JWT_TENANT_CLAIM", "org")
    file = SettingsFile(dead_letter_tenants={DEAD_LETTER_QUEUE: "acme"})
    environment.setenv(VARIABLE, file.to_json())
    tracking.settings.cache_clear()
    tracker = Tracker(memory, page_bits=8, fresh_for=timedelta(0))
    environment.setattr(tracking, "tracker", lambda: tracker)
    environment.setattr(tracking, "transport", lambda: DirectTransport(tracker, tracking.settings().tenant))


def batch_of(owner: Gateway) -> tuple[str, list[str]]:
    """A closed batch of two items."""
    batch = owner.send("POST", "/v1/batches", {}).body["batchId"]
    group = owner.send("POST", f"/v1/batches/{batch}/items", {"count": 2}).body["groups"][0]["id"]
    owner.send("POST", f"/v1/batches/{batch}/close", {})
    return batch, [f"{batch}:{group}:{index}" for index in range(2)]


def state_of(owner: Gateway, batch: str) -> tuple[str, Any]:
    answer = owner.send("GET", f"/v1/batches/{batch}").body
    return answer["state"], answer.get("result")


def acks_queue_of(environment: pytest.MonkeyPatch, tenant: str) -> None:
    environment.setenv("FANIN_TENANT", tenant)
    tracking.settings.cache_clear()


def test_the_acks_queue_of_a_tenant_completes_its_batch(environment: pytest.MonkeyPatch) -> None:
    acme = caller("acme")
    batch, items = batch_of(acme)
    acks_queue_of(environment, "acme")

    assert failed(consume_acks.handler(delivery(*items), None)) == []
    assert state_of(acme, batch) == ("COMPLETE", "succeeded")


def test_the_acks_queue_of_the_account_deletes_no_message_of_a_tenant_and_no_tenant_sees_another(
    hidden: list[tuple[str, dict[str, int]]],
) -> None:
    acme, other = caller("acme"), caller("umbrella")
    batch, items = batch_of(acme)

    assert failed(consume_acks.handler(delivery(*items), None)) == ["message-0", "message-1"]
    assert [len(pauses) for _, pauses in hidden] == [2]
    assert state_of(acme, batch) == ("CLOSED", None)
    assert other.send("GET", f"/v1/batches/{batch}").status == 404
    assert other.send("POST", "/v1/acks", {"items": items}).body["results"][0]["verdict"] == "not_found"
    assert other.send("GET", "/v1/batches").body == {"batches": []}


def test_all_callers_of_a_tenant_share_its_batches_and_have_tokens_of_their_own() -> None:
    one, two = caller("acme", "one"), caller("acme", "two")
    batch, items = batch_of(one)
    keyed = {"content-type": "application/json", "idempotency-key": "k"}
    first = one.send("POST", "/v1/acks", {"items": items}, keyed).body

    assert [completion["completedByYou"] for completion in first["completions"]] == [True]
    assert two.send("POST", "/v1/acks", {"items": items}, keyed).body["completions"] == []
    assert state_of(two, batch) == ("COMPLETE", "succeeded")


def test_a_dead_letter_queue_of_a_tenant_fails_that_tenants_items() -> None:
    acme = caller("acme")
    batch, items = batch_of(acme)

    assert failed(fail_dead_letter_messages.handler(delivery(*items, queue=DEAD_LETTER_QUEUE), None)) == []
    assert state_of(acme, batch) == ("COMPLETE", "completed_with_failures")


def test_a_dead_letter_queue_of_the_account_keeps_the_messages_of_a_tenant(
    hidden: list[tuple[str, dict[str, int]]],
) -> None:
    acme = caller("acme")
    batch, items = batch_of(acme)

    response = fail_dead_letter_messages.handler(delivery(*items, queue=OF_ACCOUNT), None)
    assert failed(response) == ["message-0", "message-1"]
    assert [queue for queue, _ in hidden] == [OF_ACCOUNT]
    assert state_of(acme, batch) == ("CLOSED", None)
