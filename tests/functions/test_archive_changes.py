"""The archive's handler, over streams of tables and a bucket as moto plays them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from fanin.aws import clients
from fanin.settings.tracking import Tables
from fanin.tracker import Ack, OpenBatch, Tracker
from fanin.tracker.dynamodb import DynamoStore
from functions import archive_changes
from tests.change_archive.streams import read, record, turn_on
from tests.contract import moto_clients
from tests.contract.tables import TABLES, create_tables

BUCKET = "archive"
PAGE = {"pk": {"S": "t#b#0#7"}, "n": {"N": "1"}, "d0": {"N": "1"}}


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("FANIN_ARCHIVE_BUCKET", BUCKET)
    monkeypatch.setenv("FANIN_ARCHIVE_TABLES", '{"pages": "Pages", "batches": "Batches"}')
    for cached in (archive_changes.archive, clients.s3):
        cached.cache_clear()
    with mock_aws():
        clients.s3().create_bucket(Bucket=BUCKET)
        yield monkeypatch
    for cached in (archive_changes.archive, clients.s3):
        cached.cache_clear()


def handled(records: list[dict[str, Any]]) -> list[str]:
    """The places that the handler sends back."""
    answer = archive_changes.handler({"Records": records}, None)
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def archived() -> dict[str, list[dict[str, Any]]]:
    """The lines of each object, by its key."""
    listed = clients.s3().list_objects_v2(Bucket=BUCKET).get("Contents", [])
    bodies = {each["Key"]: clients.s3().get_object(Bucket=BUCKET, Key=each["Key"]) for each in listed}
    return {
        key: [json.loads(line) for line in gzip.decompress(body["Body"].read()).splitlines()]
        for key, body in bodies.items()
    }


def test_the_changes_of_a_batch_are_stored_by_table_and_without_its_salt(configured):
    dynamodb, streams = moto_clients.client("dynamodb"), moto_clients.client("dynamodbstreams")
    create_tables(dynamodb)
    turn_on(dynamodb, *TABLES)
    tracker = Tracker(DynamoStore(dynamodb, Tables(*TABLES)), page_bits=8)
    batch_id = tracker.open("t", OpenBatch()).batch_id
    group = tracker.add("t", batch_id, 3).groups[0].id
    tracker.ack("t", [Ack(batch_id, group, 0, 2, "c")])
    tracker.close("t", batch_id, "c")

    for table in TABLES:
        assert handled(read(dynamodb, streams, table)) == []
    files = archived()
    by_table = {key.split("/")[1]: rows for key, rows in files.items()}

    assert by_table.keys() == {"table=pages", "table=batches"}
    assert {row["dynamodb"]["Keys"]["pk"]["S"] for row in by_table["table=pages"]} == {f"t#{batch_id}#0#0"}
    states = [row["dynamodb"]["NewImage"].get("state") for row in by_table["table=batches"]]
    assert [state["S"] for state in states if state][-1] == "COMPLETE"
    assert "salt" not in json.dumps(files)


def test_the_stream_is_retried_from_a_malformed_record_on(configured):
    delivery = [record(PAGE, number=number) for number in (1, 2, 3)]
    delivery[1]["eventName"] = "?"

    assert handled(delivery) == [delivery[1]["dynamodb"]["SequenceNumber"]]
    assert [len(rows) for rows in archived().values()] == [1]


def test_a_bucket_that_refuses_fails_the_delivery(configured):
    configured.setenv("FANIN_ARCHIVE_BUCKET", "elsewhere")

    with pytest.raises(ClientError, match="NoSuchBucket"):
        handled([record(PAGE)])


@pytest.mark.parametrize("name", ["FANIN_ARCHIVE_BUCKET", "FANIN_ARCHIVE_TABLES"])
def test_a_missing_setting_is_an_error_that_names_it(configured, name):
    configured.delenv(name)

    with pytest.raises(RuntimeError, match=name):
        handled([record(PAGE)])
