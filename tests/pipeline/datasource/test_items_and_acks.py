"""The data source `fanin`: items as rows, acks as a write, endings as a stream; over real tables."""

from __future__ import annotations

from collections import Counter

import pytest

from fanin.tracker import Ack, Mode, OpenBatch, Outcome, State, Tracker
from pipeline.datasource import FaninSource

TENANT = "tenant"

PAGE_BITS = 8
COUNTS = (70, 1, 59)
"""Three groups: 130 items in 17 leaves, under 3 parents."""


class Batch:
    """A batch of three groups, with small pages."""

    def __init__(self, tables, **options) -> None:
        self.tracker = Tracker(tables.store, page_bits=PAGE_BITS)
        self.id = self.tracker.open(TENANT, OpenBatch(**options)).batch_id
        groups = [self.tracker.add(TENANT, self.id, count).groups[0] for count in COUNTS]
        self.ids = [f"{self.id}:{group.id}:{index}" for group in groups for index in range(group.upto)]

    def ack(self, places, outcome=Outcome.SUCCESS) -> None:
        self.tracker.ack(TENANT, [Ack.of(self.ids[place], "me", outcome) for place in places])

    @property
    def stored(self):
        return self.tracker.get(TENANT, self.id)


@pytest.fixture
def access(spark, tables):
    spark.dataSource.register(FaninSource)
    return {
        "tenant": TENANT,
        "batchesTable": tables.batches,
        "pagesTable": tables.pages,
        "region": tables.region,
        "endpointUrl": tables.endpoint,
    }


@pytest.fixture
def batch(tables):
    return Batch(tables)


def read(spark, access, batch, **options):
    """(position, id, state) of what the source gives."""
    rows = spark.read.format("fanin").options(**access, batchId=batch.id, **options).load().collect()
    return sorted(tuple(row) for row in rows)


def expected(batch, places, state="outstanding"):
    return [(place, batch.ids[place], state) for place in places]


def test_of_a_batch_on_which_nothing_was_acked_every_item_is_outstanding_under_its_own_id(
    spark, access, batch
):
    assert read(spark, access, batch) == expected(batch, range(130))


def test_outstanding_items_are_those_that_are_not_acked_whatever_came_of_the_others(spark, access, batch):
    batch.ack([*range(64), 70, 71, 129])
    batch.ack([65, 72], Outcome.FAILURE)

    assert read(spark, access, batch) == expected(batch, [64, *range(66, 70), *range(73, 129)])


def test_failed_items_are_found_in_full_pages_too_and_healed_ones_are_not(spark, access, batch):
    batch.ack([3, 4, 70], Outcome.FAILURE)
    batch.ack(range(64))

    assert read(spark, access, batch, items="failed") == expected(batch, [70], "failed")

    batch.ack([66], Outcome.FAILURE)
    batch.ack([*range(64, 72)])
    batch.ack([80, 81, 82], Outcome.FAILURE)
    batch.ack([80])
    batch.ack([83, 84, 85, 86, 87])

    assert read(spark, access, batch, items="failed") == expected(batch, [81, 82], "failed")


def test_all_items_come_with_their_states(spark, access, batch):
    batch.ack(range(130))
    assert {state for _, _, state in read(spark, access, batch, items="all")} == {"succeeded"}


def test_a_mixed_batch_gives_every_item_once_with_its_state(spark, access, batch):
    batch.ack(range(0, 130, 3))
    batch.ack(range(1, 130, 3), Outcome.FAILURE)

    states = ("succeeded", "failed", "outstanding")
    assert read(spark, access, batch, items="all") == [
        (place, batch.ids[place], states[place % 3]) for place in range(130)
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"batchId": "0190f3c0-0000-4000-8000-000000000000"}, "has no batch"),
        ({"batchId": "junk"}, "a batch id is a UUID"),
        ({"items": "some"}, "takes outstanding, failed, all"),
        ({"colour": "red"}, "no option colour"),
        ({"tenant": ""}, "option tenant is required"),
        ({"tenant": "another"}, "has no batch"),
    ],
)
def test_a_wrong_option_or_another_tenants_batch_is_named(spark, access, batch, options, problem):
    options = {**access, "batchId": batch.id, **options}

    with pytest.raises(Exception, match=problem):
        spark.read.format("fanin").options(**options).load().collect()


def test_a_batch_that_only_counts_has_no_items_to_read(spark, access, tables):
    counting = Batch(tables, mode=Mode.ESTIMATED)

    with pytest.raises(Exception, match="counts acks and keeps no items"):
        read(spark, access, counting)


def write(spark, access, rows, columns="item_id string", **options):
    frame = spark.createDataFrame(rows, columns).repartition(3)
    frame.write.format("fanin").options(**access, **options).mode("append").save()


def test_written_acks_complete_the_batch_whatever_comes_twice_and_in_whichever_task(spark, access, batch):
    batch.tracker.close(TENANT, batch.id, "me")
    write(spark, access, [(one,) for one in batch.ids[:100] * 2])

    assert batch.stored.state is State.CLOSED
    assert read(spark, access, batch) == expected(batch, range(100, 130))

    write(spark, access, [(one,) for one in batch.ids])

    assert batch.stored.state is State.COMPLETE


def test_written_failures_are_counted_once_keep_their_reasons_and_yield_to_a_success(spark, access, batch):
    columns = "item_id string, outcome string, reason string"
    rows = [(one, "failure", "too heavy") for one in batch.ids[:20]]
    rows += [(one, "success", None) for one in batch.ids[10:30]]
    for _ in range(2):
        write(spark, access, rows, columns)

    states = Counter(state for _, _, state in read(spark, access, batch, items="all"))

    assert states == {"failed": 10, "succeeded": 20, "outstanding": 100}
    assert batch.stored.failed == 10
    assert {sample.reason for sample in batch.tracker.samples(batch.stored)} == {"too heavy"}


def test_a_foreign_id_stops_the_write_and_says_which_and_acks_nothing_of_its_task(spark, access, batch):
    forged = batch.ids[0].rpartition(":")[0] + ":70"

    frame = spark.createDataFrame([(batch.ids[0],), (forged,)], "item_id string").coalesce(1)

    with pytest.raises(Exception, match=rf"1 out_of_range: '{forged}'"):
        frame.write.format("fanin").options(**access).mode("append").save()

    assert read(spark, access, batch) == expected(batch, range(130))


def test_foreign_ids_are_skipped_on_request(spark, access, batch):
    write(spark, access, [(one,) for one in [*batch.ids[:5], "junk", batch.ids[0] + "9"]], refused="skip")

    assert read(spark, access, batch) == expected(batch, range(5, 130))


@pytest.mark.parametrize(
    ("mode", "options", "problem"),
    [
        ("overwrite", {}, "acks cannot be overwritten"),
        ("append", {"rate": "0"}, "rate takes write units"),
        ("append", {"refused": "perhaps"}, "takes fail, skip"),
    ],
)
def test_a_write_that_means_something_else_is_refused(spark, access, batch, mode, options, problem):
    frame = spark.createDataFrame([(batch.ids[0],)], "item_id string")

    with pytest.raises(Exception, match=problem):
        frame.write.format("fanin").options(**access, **options).mode(mode).save()


def test_a_stream_of_acks_goes_in_and_a_repeated_one_changes_nothing(spark, access, batch, tmp_path):
    acks = str(tmp_path / "acks")
    for turn in (batch.ids[:60], batch.ids[50:90]):
        spark.createDataFrame([(one,) for one in turn], "item_id string").write.mode("append").json(acks)
    for checkpoint in ("one", "two"):
        rows = spark.readStream.schema("item_id string").option("maxFilesPerTrigger", 1).json(acks)
        writer = rows.writeStream.format("fanin").options(**access)
        writer = writer.option("checkpointLocation", str(tmp_path / checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()

    assert read(spark, access, batch) == expected(batch, range(90, 130))
