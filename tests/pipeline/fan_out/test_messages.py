"""A dataset becomes messages: numbered rows, ids, copies, pages in order, and JSON."""

from __future__ import annotations

import json

from pyspark.sql import functions as F

from fanin.tracker import ItemId
from pipeline.fan_out import messages as transforms

BATCH = "58d9d56b-8361-8f2d-866d-f2cd7edf87cc"
GROUP = "00000000-0000-8000-bdf3-f81c1de66ee4"


def items(spark, count: int, partitions: int = 2):
    """(position, item_id, record) for *count* rows."""
    rows = spark.range(0, count, 1, partitions)
    placed = rows.select(F.col("id").alias("position"), F.to_json(F.struct("id")).alias("record"))
    return transforms.with_item_ids(placed, BATCH, GROUP)


def test_a_dataset_may_have_columns_of_any_name(spark):
    dataset = spark.createDataFrame([(7, "x")], "part int, `a.b` string")

    (row,) = transforms.number_rows(dataset).collect()

    assert json.loads(row.record) == {"part": 7, "a.b": "x"}


def test_item_ids_are_those_of_the_trackers_rules(spark):
    indexes = [0, 9, 10, 1023, 1024, 2**31, 2**36 - 1]
    placed = spark.createDataFrame([(i, "{}") for i in indexes], "position long, record string")

    rows = transforms.with_item_ids(placed, BATCH, GROUP).collect()

    assert {row.position: row.item_id for row in rows} == {i: str(ItemId(BATCH, GROUP, i)) for i in indexes}
    assert [ItemId.parse(row.item_id).index for row in rows] == [row.position for row in rows]


def test_a_seed_chooses_the_same_items_however_the_rows_are_split(spark):
    def chosen(seed: int, partitions: int) -> set[int]:
        copies = transforms.with_copies(items(spark, 1000, partitions), percent=10.0, seed=seed)
        return {row.position for row in copies.where("copy = 2").collect()}

    assert chosen(7, 1) == chosen(7, 3) != chosen(8, 1)


def test_a_page_goes_whole_to_one_task_in_order_and_second_copies_last(spark):
    scattered = items(spark, 4096).repartition(5, "position")
    copies = transforms.with_copies(scattered, percent=20.0, seed=1)

    messages = transforms.as_messages(copies, 4).withColumn("task", F.spark_partition_id())
    sent = [(row.task, row.copy, row.position) for row in messages.collect()]

    assert sent == sorted(sent)
    assert len({(position // 1024, task) for task, _, position in sent}) == 4
    assert len(sent) > 4096


def test_a_record_keeps_its_microseconds(spark):
    moments = (
        "timestamp'2026-01-02 03:04:05.123456' AS at, timestamp_ntz'2026-01-02 03:04:05.000001' AS local"
    )

    assert json.loads(message_of(spark.sql(f"SELECT {moments}"))) == {
        "at": "2026-01-02T03:04:05.123456Z",
        "local": "2026-01-02T03:04:05.000001",
    }


def test_a_character_that_sqs_refuses_is_sent_as_json_writes_it(spark):
    message = message_of(spark.createDataFrame([("a\uffff\ufffeb\\",)], "x string"))

    assert message == r'{"x":"a\uffff\ufffeb\\"}'
    assert json.loads(message) == {"x": "a\uffff\ufffeb\\"}


def message_of(dataset) -> str:
    """The row as it is sent."""
    (row,) = transforms.number_rows(dataset).collect()
    return row.record
