"""The archive on the local run: streams, Lambda and S3 of the emulator, one after another."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import Any

import pytest

from fanin import Fanin
from fanin.local import LocalRun
from tests.polling import eventually

ITEMS = 5


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


@pytest.mark.side_by_side
def test_the_lifecycle_of_a_batch_arrives_in_the_bucket(run):
    batch = Fanin(run.url).open(user_key="archived")
    group = batch.add(ITEMS)
    for item in group:
        Fanin(run.url).ack([item])
    batch.close()
    assert eventually(lambda: ended(changes(run, batch.id)))
    found = changes(run, batch.id)

    assert max(Counter(each["eventID"] for each in found).values()) == 1
    assert "salt" not in json.dumps(found)
