"""Tenants by JWT, over HTTP against a local run of their own: tokens, the acks queue, a dead-letter queue."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import pytest
import urllib3

from fanin.local import LocalRun
from fanin.local.function_processes import deployed as functions
from tests.api.published import checked
from tests.http.issuer import AUDIENCE, Issuer
from tests.http.tenants import DEAD_LETTER_QUEUE, OPEN_AT_MOST, ROWS
from tests.polling import eventually


@dataclass(frozen=True)
class Site:
    """A local run whose API takes the tokens of *issuer*."""

    run: LocalRun
    issuer: Issuer
    dead_letter_queue_url: str
    pool: urllib3.PoolManager

    def send(self, method: str, path: str, body: Any = None, **claims: str) -> tuple[int, Any]:
        """The status and the body of an answer to a caller with *claims*; without any, there is no token."""
        headers = {"Content-Type": "application/json"}
        if claims:
            headers["Authorization"] = f"Bearer {self.issuer.token(**claims)}"
        data = None if body is None else json.dumps(body)
        answer = self.pool.request(method, self.run.url + path, body=data, headers=headers)
        if claims:  # the others are refused by the gateway
            checked(method, path, answer.status, answer.headers, answer.data)
        return answer.status, json.loads(answer.data)

    def closed_batch(self, tenant: str) -> tuple[str, list[str]]:
        """A closed batch of two items, and their ids."""
        who = {"sub": "producer", "org": tenant}
        batch = self.send("POST", "/v1/batches", {}, **who)[1]["batchId"]
        group = self.send("POST", f"/v1/batches/{batch}/items", {"count": 2}, **who)[1]["groups"][0]["id"]
        self.send("POST", f"/v1/batches/{batch}/close", {}, **who)
        return batch, [f"{batch}:{group}:{index}" for index in range(2)]

    def batch(self, batch: str, tenant: str) -> tuple[int, Any]:
        return self.send("GET", f"/v1/batches/{batch}", sub="reader", org=tenant)

    def logged(self, handler: str) -> str:
        """All lines that a handler has logged."""
        group = functions.by_handler(self.run.client("lambda"))[handler]["LoggingConfig"]["LogGroup"]
        pages = self.run.client("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
        return "\n".join(event["message"] for page in pages for event in page["events"])

    def on_queue(self, url: str) -> int:
        """Messages on a queue, hidden ones among them."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.run.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)
        return sum(int(found["Attributes"][name]) for name in names)


@pytest.fixture(scope="module")
def site(run_of_tenants: Future[LocalRun]) -> Iterator[Site]:
    with Issuer() as issuer, run_of_tenants.result() as run:
        gateway = run.client("apigatewayv2")
        api = run.outputs["ApiId"]
        (authorizer,) = gateway.get_authorizers(ApiId=api)["Items"]
        # The stack takes https:// issuers alone, and a test has no certificate.
        gateway.update_authorizer(
            ApiId=api,
            AuthorizerId=authorizer["AuthorizerId"],
            JwtConfiguration={"Issuer": issuer.url, "Audience": [AUDIENCE]},
        )
        name = DEAD_LETTER_QUEUE.rpartition(":")[2]
        url = run.client("sqs").create_queue(QueueName=name)["QueueUrl"]
        yield Site(run, issuer, url, urllib3.PoolManager(retries=False, timeout=60))


def test_a_request_without_a_token_or_with_one_of_another_audience_is_refused(site: Site) -> None:
    assert site.send("POST", "/v1/batches", {})[0] == 401
    headers = {"Authorization": f"Bearer {site.issuer.token(sub='x', org='acme', aud='others')}"}
    assert site.pool.request("GET", f"{site.run.url}/v1/batches", headers=headers).status == 401


@pytest.mark.parametrize("claims", [{"sub": "x"}, {"sub": "x", "org": "000000000000"}, {"org": "acme"}])
def test_a_token_without_a_tenant_of_its_own_is_refused_with_a_problem(
    site: Site, claims: dict[str, str]
) -> None:
    status, problem = site.send("POST", "/v1/batches", {}, **claims)

    assert (status, problem["type"]) == (403, "urn:fanin:problem:forbidden")


def test_no_tenant_sees_the_batches_of_another(site: Site) -> None:
    batch, items = site.closed_batch("acme")

    assert site.batch(batch, "acme")[0] == 200
    assert site.batch(batch, "umbrella")[0] == 404
    status, answer = site.send("POST", "/v1/acks", {"items": items}, sub="x", org="umbrella")
    assert (status, {result["verdict"] for result in answer["results"]}) == (200, {"not_found"})


def test_a_tenant_publishes_the_sources_that_are_its_own(site: Site) -> None:
    body = {"source": "s3://lake/acme/rows.jsonl", "queue": ROWS}
    own = {"sub": "x", "org": "acme"}
    s3 = site.run.client("s3")
    s3.create_bucket(Bucket="lake")
    s3.put_object(Bucket="lake", Key="acme/rows.jsonl", Body=b"1\n")
    status, started = site.send("POST", "/v1/publications", body, **own)
    path = f"/v1/publications/{started['batchId']}"

    assert status == 202
    assert site.send("POST", "/v1/publications", body, sub="x", org="umbrella")[0] == 400
    assert site.send("POST", "/v1/publications", body | {"source": "s3://lake/b.jsonl"}, **own)[0] == 400
    assert site.send("GET", path, sub="x", org="umbrella")[0] == 404
    assert eventually(lambda: site.send("GET", path, **own)[1]["state"] == "CANCELLED")
    assert f"there is no queue {ROWS}" in site.send("GET", path, **own)[1]["reason"]


def test_a_tenant_over_its_quota_is_refused_until_a_batch_ends_and_others_are_not(site: Site) -> None:
    many = {"sub": "x", "org": "many"}
    opened = [site.send("POST", "/v1/batches", {}, **many) for _ in range(OPEN_AT_MOST)]
    status, problem = site.send("POST", "/v1/batches", {}, **many)

    assert {status for status, _ in opened} == {201}
    assert (status, problem["type"]) == (429, "urn:fanin:problem:quota-exceeded")
    assert problem["quota"] == {"name": "openBatches", "limit": OPEN_AT_MOST, "used": OPEN_AT_MOST}
    assert site.send("POST", "/v1/batches", {}, sub="x", org="few")[0] == 201
    site.send("POST", f"/v1/batches/{opened[0][1]['batchId']}/cancel", {}, **many)
    assert eventually(lambda: site.send("POST", "/v1/batches", {}, **many)[0] == 201)


def test_acks_and_dead_letter_messages_of_a_tenants_queues_complete_its_batch(site: Site) -> None:
    batch, items = site.closed_batch("acme")
    sqs = site.run.client("sqs")
    sqs.send_message(QueueUrl=site.run.outputs["AcksQueueUrl"], MessageBody=items[0])
    sqs.send_message(QueueUrl=site.dead_letter_queue_url, MessageBody=items[1])

    assert eventually(lambda: site.batch(batch, "acme")[1]["state"] == "COMPLETE")
    assert site.batch(batch, "acme")[1]["progress"]["failed"] == 1
    assert eventually(lambda: site.on_queue(site.dead_letter_queue_url) == 0)


def test_a_message_of_another_tenants_item_stays_on_its_queue(site: Site) -> None:
    batch, items = site.closed_batch("umbrella")
    mine, of_mine = site.closed_batch("acme")
    sqs, url = site.run.client("sqs"), site.run.outputs["AcksQueueUrl"]
    for item in (*items, *of_mine):
        sqs.send_message(QueueUrl=url, MessageBody=item)

    assert eventually(lambda: site.batch(mine, "acme")[1]["state"] == "COMPLETE")
    assert eventually(lambda: site.on_queue(url) == 2)
    assert site.batch(batch, "umbrella")[1]["progress"]["acked"] == 0
    assert eventually(lambda: "messages return to the queue" in site.logged("consume_acks"))
    assert "visibility timeout" not in site.logged("consume_acks")


ITEMS = 2
"""Of a batch that ``Site.closed_batch`` makes."""


def changes(run: LocalRun, batch: str) -> list[dict[str, Any]]:
    """Every change of *batch* that has arrived in the bucket, with what its table holds."""
    s3, bucket = run.client("s3"), run.outputs["ArchiveBucket"]
    keys = [each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
    bodies = {key: s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}
    return [
        {**json.loads(line), "kind": key.split("/")[1]}
        for key, body in bodies.items()
        for line in gzip.decompress(body).splitlines()
        if batch.encode() in line
    ]


def ended(found: list[dict[str, Any]]) -> bool:
    images = [each["dynamodb"].get("NewImage", {}) for each in found if each["kind"] == "table=batches"]
    acked = sum("size" not in each["dynamodb"]["NewImage"] for each in found if each["kind"] == "table=pages")
    return acked >= ITEMS and any(image.get("state") == {"S": "COMPLETE"} for image in images)


def test_the_lifecycle_of_a_batch_arrives_in_the_bucket(site: Site) -> None:
    batch, items = site.closed_batch("acme")
    for item in items:
        site.send("POST", "/v1/acks", {"items": [item]}, sub="x", org="acme")
    assert eventually(lambda: ended(changes(site.run, batch)))
    found = changes(site.run, batch)

    assert max(Counter(each["eventID"] for each in found).values()) == 1
    assert "salt" not in json.dumps(found)
