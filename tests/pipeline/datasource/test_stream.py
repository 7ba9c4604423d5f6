"""The endings of batches as a stream: all of them, the later ones too, each checkpoint on its own."""

from __future__ import annotations

import pytest

from fanin.tracker import Ack, OpenBatch, Outcome, Tracker
from pipeline.datasource.stream import ending
from pipeline.shared_by_jobs import schemas

TENANT = "tenant"


@pytest.fixture
def tracker(tables):
    images = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    tables.client.update_table(TableName=tables.batches, StreamSpecification=images)
    return Tracker(tables.store)


def opened(tracker, tenant=TENANT, count=2, **request):
    batch = tracker.open(tenant, OpenBatch(**request))
    group = tracker.add(tenant, batch.batch_id, count).groups[0]
    return batch.batch_id, group.id


def finish(tracker, batch_id, group_id, tenant=TENANT, outcome=Outcome.SUCCESS):
    tracker.close(tenant, batch_id, "me")
    tracker.ack(tenant, [Ack(batch_id, group_id, 0, 1, "me", outcome)])


def listen(spark, access, path):
    """Write what has come since the last time to *path*; all rows there."""
    rows = spark.readStream.format("fanin").options(**access).load()
    writer = rows.writeStream.format("json").option("checkpointLocation", f"{path}.checkpoint")
    writer.trigger(availableNow=True).start(path).awaitTermination()
    return spark.read.schema(schemas.EVENTS).json(path).collect()


@pytest.mark.proof
def test_each_ending_comes_once_for_a_checkpoint_and_of_the_tenant_alone(spark, access, tracker, tmp_path):
    completed, group = opened(tracker, user_key="mine")
    finish(tracker, completed, group)
    stopped, _ = opened(tracker)
    tracker.cancel(TENANT, stopped, "not needed")
    opened(tracker)
    finish(tracker, *opened(tracker, tenant="another"), tenant="another")
    path = str(tmp_path / "events")

    first = {row.batch_id: row for row in listen(spark, access, path)}

    assert {row.event_id: row.result for row in first.values()} == {
        f"{completed}:COMPLETE": "succeeded",
        f"{stopped}:CANCELLED": "cancelled",
    }
    assert first[completed].asDict().items() >= {"user_key": "mine", "total": 2, "failed": 0}.items()
    assert first[completed].ended_at >= first[completed].closed_at >= first[completed].opened_at
    assert (first[stopped].detail_type, first[stopped].reason) == ("BatchCancelled", "not needed")

    later, group = opened(tracker)
    finish(tracker, later, group, outcome=Outcome.FAILURE)
    rows = listen(spark, access, path)

    assert sorted(row.batch_id for row in rows) == sorted([completed, stopped, later])
    assert {row.batch_id: row.result for row in rows}[later] == "completed_with_failures"


def test_a_change_of_a_batch_that_has_ended_is_no_second_ending():
    image = {"sk": {"S": "batch"}, "tenant": {"S": TENANT}, "state": {"S": "COMPLETE"}}

    assert ending({"dynamodb": {"NewImage": image, "OldImage": image}}, TENANT) is None
