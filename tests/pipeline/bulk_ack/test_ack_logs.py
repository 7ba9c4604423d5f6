"""Consumers that ack to a log in S3, and bulk_ack that folds it."""

from __future__ import annotations

import gzip
import json
from itertools import count

import pytest

from fanin import Fanin
from fanin.aws import clients
from fanin.client.transports.direct import DirectTransport
from fanin.errors import InvalidRequest
from fanin.tracker import State, Tracker
from pipeline.bulk_ack.local import LocalEngine
from pipeline.bulk_ack.run import BulkAckRequest, bulk_ack
from tests.pipeline.bulk_ack.test_run import TENANT

ITEMS = 3_000
LOG = "s3://acks/of/march"


@pytest.fixture
def bucket(aws, monkeypatch):
    for name, value in aws.environment.items():
        monkeypatch.setenv(name, value)
    clients.s3.cache_clear()
    client = aws.client("s3")
    client.create_bucket(Bucket="acks")
    yield client
    clients.s3.cache_clear()


@pytest.fixture
def fanin(tables):
    return Fanin(DirectTransport(Tracker(tables.store), TENANT))


def delivered(handler, bodies, receives=1) -> list[str]:
    """Deliver messages; those that return to the queue."""
    names = count()
    records = [
        {
            "messageId": f"m{next(names)}",
            "body": body,
            "attributes": {"ApproximateReceiveCount": str(receives)},
        }
        for body in bodies
    ]
    failures = handler({"Records": records}, None)["batchItemFailures"]
    return [each["itemIdentifier"] for each in failures]


def folded(tables, tmp_path):
    """What bulk_ack reports of the log."""
    found = {}
    engine = LocalEngine(cores=1)
    request = BulkAckRequest(tables, TENANT, str(tmp_path / "rejects"), "run")
    bulk_ack(engine, engine.list_logs([LOG]), request, found.setdefault)
    return found["acked"]


def opened(fanin) -> tuple[str, list[str]]:
    with fanin.open() as batch:
        return batch.id, list(batch.add(ITEMS))


def rows_of(client) -> int:
    """The lines of the log."""
    keys = [each["Key"] for each in client.list_objects_v2(Bucket="acks")["Contents"]]
    files = [client.get_object(Bucket="acks", Key=key)["Body"].read() for key in keys]
    return sum(len(gzip.decompress(file).splitlines()) for file in files)


def test_acks_of_messages_go_to_the_log_and_complete_their_batches_when_it_is_folded(
    fanin, tables, bucket, tmp_path
):
    batches = [opened(fanin) for _ in range(2)]
    ids = [item for _, items in batches for item in items]
    refused = {ids[5], ids[9]}

    @fanin.acks(log=LOG, fail_after=1)
    def handler(record):
        if record["body"] in refused:
            raise ValueError("no picture")

    assert delivered(handler, ids) == []
    assert rows_of(bucket) < 20, "neighbours are one row"
    refused.clear()
    delivered(handler, [ids[5]], receives=2)
    assert [fanin.status(batch).acked for batch, _ in batches] == [0, 0]

    acked = folded(tables, tmp_path)

    assert (acked["fresh"], acked["failed"], acked["rejected"]) == (2 * ITEMS, 1, 0)
    statuses = [fanin.status(batch) for batch, _ in batches]
    assert [(each.state, each.failed) for each in statuses] == [(State.COMPLETE, 1), (State.COMPLETE, 0)]
    assert [each.reason for each in fanin.samples(batches[0][0])] == ["ValueError: no picture"]


def test_a_chunk_of_which_an_item_is_left_logs_the_others_and_returns(fanin, tables, bucket, tmp_path):
    batch, ids = opened(fanin)
    head, _, _ = ids[0].rpartition(":")
    left = {7}

    @fanin.acks_each(log=LOG)
    def handler(item):
        if item.index in left:
            raise ValueError("later")

    chunks = [json.dumps({"items": f"{head}:{at}-{at + 999}"}) for at in range(0, ITEMS, 1000)]
    assert delivered(handler, chunks) == ["m0"]
    assert folded(tables, tmp_path)["fresh"] == ITEMS - 1
    left.clear()
    assert delivered(handler, chunks[:1], receives=2) == []
    assert folded(tables, tmp_path)["fresh"] == 1

    assert fanin.status(batch).state is State.COMPLETE


def test_messages_return_while_the_log_cannot_be_written(fanin, tables, bucket, monkeypatch):
    _, ids = opened(fanin)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    clients.s3.cache_clear()
    handler = fanin.acks(log=LOG)(lambda record: None)

    assert delivered(handler, ids[:2]) == ["m0", "m1"]


@pytest.mark.parametrize(
    "options", [{"log": "acks"}, {"log": "s3://"}, {"log": 3}, {"log": LOG, "results": True}]
)
def test_a_log_is_a_prefix_of_s3_and_has_no_results(fanin, options):
    with pytest.raises(InvalidRequest, match="log"):
        fanin.acks(**options)
