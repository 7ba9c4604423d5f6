"""The deployed function publishes an object of S3: on request, and as soon as it is created."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanin.client.consuming.chunks import range_of
from fanin.local import LocalRun
from lab.local.races import Api
from tests.polling import eventually

ROOT = Path(__file__).resolve().parents[2]
ROWS = 7
QUEUE = "lake-rows"


@pytest.fixture(scope="module")
def put(run: LocalRun) -> Callable[[str], object]:
    """Puts an object of ROWS rows into the bucket, whose events are on."""
    s3 = run.client("s3")
    s3.create_bucket(Bucket="lake")
    notified = {"EventBridgeConfiguration": {}}
    s3.put_bucket_notification_configuration(Bucket="lake", NotificationConfiguration=notified)
    run.client("sqs").create_queue(QueueName=QUEUE)
    lines = b"".join(b'{"n": %d}\n' % n for n in range(ROWS))
    return lambda key: s3.put_object(Bucket="lake", Key=key, Body=lines)


def sent(run: LocalRun, batch: str) -> dict[str, int]:
    """The rows of the items of *batch* in the queue, whose messages of this batch are deleted."""
    sqs, found = run.client("sqs"), {}
    url = sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in messages:
            body = json.loads(message["Body"])
            items = zip(range_of(body["items"]), body["rows"], strict=True)
            found |= {str(item): row["n"] for item, row in items}
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return {item: row for item, row in found.items() if item.startswith(batch)}


def fanin(run: LocalRun, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "shared"), "FANIN_URL": run.url}
    command = [sys.executable, "-m", "fanin.cli.main", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


def publication(api: Api, batch: str) -> Any:
    return json.loads(api.pool.request("GET", f"{api.url}/v1/publications/{batch}").data)


def test_an_object_that_is_created_is_published_and_so_is_one_on_request(
    run: LocalRun, api: Api, put: Callable[[str], object]
) -> None:
    put("in/created-7.jsonl")
    put("in/created-7.csv.gz")
    listed = f"{api.url}/v1/batches?userKey=created-7&state=CLOSED"
    batches: list[Any] = eventually(lambda: json.loads(api.pool.request("GET", listed).data)["batches"])
    (created,) = [each["batchId"] for each in batches]
    assert sorted(sent(run, created).values()) == list(range(ROWS))

    put("new/asked-7.jsonl")
    started = fanin(run, "publish", "s3://lake/new/asked-7.jsonl", "--queue", QUEUE, "--server", "--chunk=3")
    asked = started.stdout.strip()
    assert started.returncode == 0, started.stderr
    assert eventually(lambda: publication(api, asked)["isPublished"])
    found = publication(api, asked)
    assert (found["rows"], found["readBytes"], found["state"]) == (ROWS, found["sizeBytes"], "CLOSED")
    assert sorted(sent(run, asked).values()) == list(range(ROWS))

    missing = fanin(run, "publish", "s3://lake/new/none.jsonl", "--queue", QUEUE, "--server")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "there is no object s3://lake/new/none.jsonl" in missing.stderr


def test_a_batch_of_no_publication_has_none(api: Api) -> None:
    batch, _ = api.opened(1)
    paths = {batch: 404, "00000000-0000-4000-8000-000000000000": 404, "x": 400}
    found = {each: api.pool.request("GET", f"{api.url}/v1/publications/{each}").status for each in paths}

    assert found == paths
