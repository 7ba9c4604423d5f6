"""Results of an ended batch as rows, by Spark and by what its tasks call."""

from __future__ import annotations

import json

import pytest

from fanin.errors import Conflict, InvalidRequest
from fanin.item_results import gathering
from fanin.item_results.s3 import BucketObjects
from fanin.item_results.service import Results
from fanin.tracker import Ack, OpenBatch, Outcome, Tracker
from pipeline.datasource import FaninSource
from pipeline.shared_by_jobs import schemas

TENANT, BUCKET, ITEMS = "tenant", "results", 100


class Batch:
    """A live batch: of its items every fifth has no result, and item 3 fails."""

    def __init__(self, tables, client, keeps=True) -> None:
        results = Results(BucketObjects(client, BUCKET))
        self.tracker = Tracker(tables.store, page_bits=8, results=results)
        self.id = self.tracker.open(TENANT, OpenBatch(results=keeps)).batch_id
        group = self.tracker.add(TENANT, self.id, ITEMS).groups[0].id
        self.ids = [f"{self.id}:{group}:{index}" for index in range(ITEMS)]
        self.expected = {at: {"of": f'{at}","result":'} for at in range(ITEMS) if at % 5 and at != 3}

    def end(self) -> None:
        acks = [Ack.of(self.ids[3], "me", Outcome.FAILURE)]
        for at in (each for each in range(ITEMS) if each != 3):
            result = json.dumps(self.expected[at]) if at in self.expected else None
            acks.append(Ack.of(self.ids[at], "me", result=result))
        self.tracker.ack(TENANT, acks)
        self.tracker.close(TENANT, self.id, "me")

    def rows(self):
        return [(at, self.ids[at], result) for at, result in self.expected.items()]


@pytest.fixture
def client(aws):
    client = aws.client("s3")
    client.create_bucket(Bucket=BUCKET)
    return client


@pytest.fixture
def options(access, aws):
    return access | {"what": "results", "resultsBucket": BUCKET, "resultsEndpointUrl": aws.endpoint}


@pytest.fixture
def batch(tables, client):
    return Batch(tables, client)


def parsed(rows):
    return sorted((position, item, json.loads(result)) for position, item, result in rows)


def test_spark_reads_the_results_of_the_items_that_succeeded(spark, options, batch):
    batch.end()
    rows = spark.read.format("fanin").options(**options, batchId=batch.id).load()

    assert rows.schema == schemas.RESULTS
    assert parsed(tuple(row) for row in rows.collect()) == batch.rows()


def test_each_file_is_a_task(options, batch, monkeypatch):
    monkeypatch.setattr(gathering.Gatherer.__init__, "__defaults__", small_files())
    batch.end()
    reader = FaninSource({**options, "batchId": batch.id}).reader(schemas.RESULTS)
    files = reader.partitions()
    read = [[tuple(row.values()) for each in reader.read(file) for row in each.to_pylist()] for file in files]

    assert len(files) > 3
    assert all(read)
    assert [row for rows in map(parsed, read) for row in rows] == batch.rows()


def small_files():
    defaults = gathering.Gatherer.__init__.__defaults__
    return tuple(2_000 if each == gathering.FILE_BYTES else each for each in defaults)


def test_a_live_batch_and_one_that_keeps_none_are_refused(options, batch, tables, client):
    with pytest.raises(Conflict, match="once it has ended"):
        FaninSource({**options, "batchId": batch.id}).reader(schemas.RESULTS).partitions()
    other = Batch(tables, client, keeps=False)
    with pytest.raises(InvalidRequest, match="keeps no results"):
        FaninSource({**options, "batchId": other.id}).reader(schemas.RESULTS).partitions()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"resultsBucket": ""}, "option resultsBucket is required"),
        ({"what": "everything"}, "takes items, results"),
        ({"items": "all"}, "no option items"),
        ({"what": "items"}, "no option resultsBucket"),
    ],
)
def test_a_wrong_option_is_named(options, given, problem):
    batch_id = "0190f3c0-0000-4000-8000-000000000000"
    with pytest.raises(ValueError, match=problem):
        FaninSource({**options, "batchId": batch_id, **given}).reader(schemas.RESULTS)
