"""Latencies by their share, their histogram, and who came last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pipeline.history_tables.deliveries import deliveries, since_sent
from pipeline.history_tables.latency import BINS, histogram, percentiles, stragglers, tails, with_item_ids

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATENCIES = "batch_id string, position long, acked_at timestamp, latency double, basis string"
GROUPS = "batch_id string, group_id string, start long, upto long"


@pytest.fixture(scope="module")
def shares(spark):
    """1 to 1,000 seconds, and one batch whose items all took no time."""
    rows = [("a", at, START, float(at), "sent") for at in range(1, 1001)]
    rows += [("b", at, START, 0.0, "opened") for at in range(3)]
    taken = spark.createDataFrame(rows, LATENCIES).cache()
    found = percentiles(taken).cache()
    return {row.batch_id: row for row in found.collect()}, histogram(taken, found).collect()


def test_a_share_is_the_latency_that_so_many_items_do_not_exceed(shares):
    row = shares[0]["a"]

    assert (row.basis, row["items"], row.mean) == ("sent", 1000, 500.5)
    assert (row.p50, row.p90, row.p95, row.p99, row.most) == (500, 900, 950, 990, 1000)


def test_a_histogram_has_bars_of_one_width_and_the_slowest_in_the_last(shares):
    bars = sorted((row for row in shares[1] if row.batch_id == "a"), key=lambda row: row.bin)
    widths = {round(bar.high - bar.low, 6) for bar in bars[:-1]}

    assert [bar.bin for bar in bars] == list(range(BINS))
    assert len(widths) == 1
    assert (bars[-1].high, bars[-1]["items"]) == (pytest.approx(1006.78, abs=0.01), 11)
    assert sum(bar["items"] for bar in bars) == 1000


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def test_stragglers_are_what_was_acked_after_nearly_all_and_carry_the_id_of_their_group(spark):
    acked = [(position, position // 20) for position in range(200)] + [(200, 90), (201, 80)]
    positioned = spark.createDataFrame(
        [("a", position, at(second), position == 201, False) for position, second in acked],
        "batch_id string, position long, acked_at timestamp, failed boolean, healed boolean",
    )
    reported = [("a", at(second), 20) for second in range(10)]
    reported += [("a", at(80), 1), ("a", at(90), 1), ("b", at(0), 1)]
    seconds = spark.createDataFrame(reported, "batch_id string, second timestamp, acked long")
    groups = spark.createDataFrame([("a", "first", 0, 150), ("a", "second", 150, 51)], GROUPS)
    tail = tails(seconds).cache()

    rows = stragglers(positioned, tail, groups).orderBy("position").collect()

    assert {row.batch_id: row.tail_at.astimezone(UTC) for row in tail.collect()} == {"a": at(9), "b": at(0)}
    assert [(row.position, row.item_id, row.after, row.failed) for row in rows] == [
        (200, "a:second:50", 81.0, False),
        (201, None, 71.0, True),
    ]


def test_an_item_between_groups_of_several_batches_keeps_its_own(spark):
    items = spark.createDataFrame([("a", 5), ("b", 5)], "batch_id string, position long")
    groups = spark.createDataFrame([("a", "x", 0, 9), ("b", "y", 5, 1), ("b", "z", 6, 1)], GROUPS)

    assert {row.item_id for row in with_item_ids(items, groups).collect()} == {"a:x:5", "b:y:0"}


KINDS = {
    "milliseconds": ("long", lambda ms: ms),
    "times": ("timestamp", lambda ms: datetime.fromtimestamp(ms / 1000, UTC)),
    "texts": ("string", lambda ms: datetime.fromtimestamp(ms / 1000, UTC).isoformat()),
}


@pytest.mark.parametrize("kind", [pytest.param("milliseconds", marks=pytest.mark.proof), "times", "texts"])
def test_the_first_message_and_the_first_ack_of_an_item_are_its_latency_in_every_form_of_a_log(spark, kind):
    """A log without times has no latencies."""
    name, of = KINDS[kind]
    groups = spark.createDataFrame([("a", "x", 10, 5)], GROUPS)
    reported = [(2000, 1250), (9000, 1000), (1500, 1400)]
    rows = [("a:x:3", of(at), of(sent)) for at, sent in reported]
    rows += [("a:x:5", of(1), of(0)), (None, of(1), of(0))]
    log = spark.createDataFrame(rows, f"item_id string, at {name}, sent_at {name}")

    (row,) = since_sent(deliveries(log, groups)).collect()

    assert (row.batch_id, row.position, row.latency, row.basis) == ("a", 13, 0.5, "sent")
    assert since_sent(deliveries(log.select("item_id"), groups)).collect() == []
