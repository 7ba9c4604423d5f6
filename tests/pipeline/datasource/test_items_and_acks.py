"""The data source `fanin`: items as rows and acks as a write, by Spark and by what its tasks call."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.pandas.types import to_arrow_schema

from fanin.errors import InvalidRequest
from fanin.tracker import Ack, Mode, OpenBatch, Outcome, State, Tracker
from pipeline.datasource import FaninSource
from pipeline.datasource.writing import as_batches
from pipeline.shared_by_jobs import schemas

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

    def expected(self, places, state="outstanding"):
        return [(place, self.ids[place], state) for place in places]

    @property
    def stored(self):
        return self.tracker.get(TENANT, self.id)


@pytest.fixture
def batch(tables):
    return Batch(tables)


def read(access, batch, **options):
    """(position, id, state) of what the tasks of a read give."""
    reader = FaninSource({**access, "batchId": batch.id, **options}).reader(schemas.ITEMS)
    given = (each for part in reader.partitions() for each in reader.read(part))
    return sorted(tuple(row.values()) for each in given for row in each.to_pylist())


def write(access, *tasks, overwrite=False, of=FaninSource.writer, **options):
    """Write the rows of each task: an id, or an id with its outcome and its reason."""
    writer = of(FaninSource({**access, **options}), schemas.ACKS, overwrite)
    for rows in tasks:
        full = [((row,) if isinstance(row, str) else row) + (None, None) for row in rows]
        given = [dict(zip(schemas.ACKS.names, row, strict=False)) for row in full]
        writer.write(iter([pa.RecordBatch.from_pylist(given, schema=to_arrow_schema(schemas.ACKS))]))


def test_spark_reads_the_items_and_writes_acks_until_the_batch_is_complete(spark, access, batch):
    batch.tracker.close(TENANT, batch.id, "me")
    batch.ack(range(30))
    rows = spark.read.format("fanin").options(**access, batchId=batch.id).load().collect()
    assert sorted(tuple(row) for row in rows) == batch.expected(range(30, 130))

    frame = spark.createDataFrame([(one,) for one in batch.ids * 2], "item_id string").repartition(3)
    frame.write.format("fanin").options(**access).mode("append").save()

    assert batch.stored.state is State.COMPLETE


@pytest.mark.proof
def test_spark_writes_a_stream_of_acks(spark, access, batch, tmp_path):
    acks = str(tmp_path / "acks")
    for ids in (batch.ids[:60], batch.ids[50:90]):
        spark.createDataFrame([(one,) for one in ids], "item_id string").write.mode("append").json(acks)
    rows = spark.readStream.schema("item_id string").json(acks)
    writer = rows.writeStream.format("fanin").options(**access, checkpointLocation=str(tmp_path / "c"))
    writer.trigger(availableNow=True).start().awaitTermination()

    assert read(access, batch) == batch.expected(range(90, 130))


def test_a_stream_of_acks_goes_in_and_a_repeated_one_changes_nothing(access, batch):
    for ids in (batch.ids[:60], batch.ids[50:90], batch.ids[50:90]):
        write(access, ids, of=FaninSource.streamWriter)

    assert read(access, batch) == batch.expected(range(90, 130))


def test_ranges_are_written_as_their_items_also_where_spark_gives_single_rows(access, batch):
    group = batch.ids[0].split(":")[1]
    rows = as_batches(Row(batch_id=batch.id, group_id=group, first=at, last=at + 9) for at in (0, 10, 5))

    FaninSource(access).writer(schemas.ACKS, overwrite=False).write(rows)

    assert read(access, batch) == batch.expected(range(20, 130))


def test_failed_items_are_found_in_full_pages_too_and_healed_ones_are_not(access, batch):
    batch.ack([3, 4, 70], Outcome.FAILURE)
    batch.ack(range(64))

    assert read(access, batch, items="failed") == batch.expected([70], "failed")

    batch.ack([66], Outcome.FAILURE)
    batch.ack([*range(64, 72)])
    batch.ack([80, 81, 82], Outcome.FAILURE)
    batch.ack([80])
    batch.ack([83, 84, 85, 86, 87])

    assert read(access, batch, items="failed") == batch.expected([81, 82], "failed")


def test_a_mixed_batch_gives_every_item_once_with_its_state(access, batch):
    batch.ack(range(0, 130, 3))
    batch.ack(range(1, 130, 3), Outcome.FAILURE)

    states = ("succeeded", "failed", "outstanding")
    assert read(access, batch, items="all") == [
        (place, batch.ids[place], states[place % 3]) for place in range(130)
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"batchId": "0190f3c0-0000-4000-8000-000000000000"}, "has no batch"),
        ({"batchId": "junk"}, "a batch id is a UUID"),
        ({"items": "some"}, "takes outstanding, failed, all"),
        ({"tenant": ""}, "option tenant is required"),
        ({"colour": "red"}, "no option colour"),
        ({"tenant": "another"}, "has no batch"),
    ],
)
def test_a_wrong_option_or_another_tenants_batch_is_named(access, batch, options, problem):
    with pytest.raises((ValueError, InvalidRequest), match=problem):
        read(access | options, batch, **options)


def test_a_batch_that_only_counts_has_no_items_to_read(access, tables):
    with pytest.raises(ValueError, match="counts acks and keeps no items"):
        read(access, Batch(tables, mode=Mode.ESTIMATED))


def test_written_failures_are_counted_once_keep_their_reasons_and_yield_to_a_success(access, batch):
    failed = [(one, "failure", "too heavy") for one in batch.ids[:20]]
    succeeded = [(one, "success", None) for one in batch.ids[10:30]]
    for tasks in ([failed, succeeded], [succeeded, failed]):
        write(access, *tasks)

    states = Counter(state for _, _, state in read(access, batch, items="all"))

    assert states == {"failed": 10, "succeeded": 20, "outstanding": 100}
    assert batch.stored.failed == 10
    assert {sample.reason for sample in batch.tracker.samples(batch.stored)} == {"too heavy"}


def test_a_foreign_id_stops_the_write_and_acks_nothing_of_its_task_or_is_skipped_on_request(access, batch):
    forged = batch.ids[0].rpartition(":")[0] + ":70"

    with pytest.raises(ValueError, match=rf"1 out_of_range: '{forged}'"):
        write(access, [batch.ids[0], forged])
    assert read(access, batch) == batch.expected(range(130))
    write(access, [*batch.ids[:5], "junk", forged], refused="skip")

    assert read(access, batch) == batch.expected(range(5, 130))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"overwrite": True}, "acks cannot be overwritten"),
        ({"rate": "0"}, "rate takes write units"),
        ({"refused": "perhaps"}, "takes fail, skip"),
    ],
)
def test_a_write_that_means_something_else_is_refused(access, batch, options, problem):
    with pytest.raises(ValueError, match=problem):
        write(access, [batch.ids[0]], **options)


@dataclass(frozen=True)
class Filter:
    """A filter as Spark pushes it: its class has the kind as its name."""

    attribute: tuple[str, ...]
    value: object = None


def pushed(kind: str, column: str, value: object = None) -> Filter:
    return type(kind, (Filter,), {})((column,), value)


AT = "position"
PUSHED = [
    ([pushed("GreaterThanOrEqual", AT, 10), pushed("LessThan", AT, 13)], range(10, 13), []),
    ([pushed("GreaterThan", AT, 126), pushed("LessThanOrEqual", AT, 128)], [127, 128], []),
    ([pushed("EqualTo", AT, 70), pushed("IsNotNull", AT)], [70], []),
    ([pushed("EqualTo", AT, -1)], [], []),
    ([pushed("LessThan", AT, 2), pushed("In", AT, (0, 5))], range(2), ["In"]),
    ([pushed("EqualTo", "state", "failed")], range(0, 130, 3), []),
    ([pushed("EqualNullSafe", "state", "succeeded"), pushed("LessThan", AT, 9)], [1, 4, 7], []),
    ([pushed("In", "state", ("failed", "outstanding")), pushed("LessThan", AT, 4)], [0, 2, 3], []),
    ([pushed("EqualTo", "state", "FAILED")], [], []),
    ([pushed("EqualTo", "item_id", "x"), pushed("Not", "state")], range(130), ["EqualTo", "Not"]),
]


@pytest.mark.parametrize(("filters", "places", "returned"), PUSHED)
def test_pushed_filters_limit_the_items_and_the_pages_that_are_read(access, batch, filters, places, returned):
    batch.ack(range(0, 130, 3), Outcome.FAILURE)
    batch.ack(range(1, 130, 3))
    source = FaninSource({**access, "batchId": batch.id, "items": "all", "pushDownPredicate": "true"})
    reader = source.reader(schemas.ITEMS)

    kept = [type(each).__name__ for each in reader.pushFilters(filters)]
    rows = [row for part in reader.partitions() for each in reader.read(part) for row in each.to_pylist()]

    assert kept == returned
    assert [row["position"] for row in rows] == list(places)


def test_a_task_is_planned_only_for_pages_that_pushed_positions_may_be_in(access, batch):
    reader = FaninSource({**access, "batchId": batch.id, "pushDownPredicate": "true"}).reader(schemas.ITEMS)

    list(reader.pushFilters([pushed("GreaterThan", AT, 127)]))

    assert [part.branch.number for part in reader.partitions()] == [2]


def test_a_reader_takes_filters_only_if_asked_to(access, batch):
    """Spark refuses a reader that takes them while its setting is off, as by default."""
    reader = FaninSource({**access, "batchId": batch.id}).reader(schemas.ITEMS)

    assert "pushFilters" not in vars(type(reader))
