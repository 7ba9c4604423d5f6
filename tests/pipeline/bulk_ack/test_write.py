"""One task's share of the pages: all marked, at a rate, or the job says which are left."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.functions import spark_partition_id

from fanin.aws.dynamodb.meter import Meter
from fanin.errors import StoreUnavailable
from fanin.tracker import OpenBatch, PageMasks, Tracker
from fanin.tracker.batch_changes.recording import OFFERS_A_REQUEST
from fanin.tracker.memory import MemoryStore
from pipeline.bulk_ack import frames, write
from pipeline.bulk_ack.local import dealt
from pipeline.bulk_ack.rows import MARKED, PAGE_MASKS
from pipeline.bulk_ack.run import estimate_acks
from pipeline.bulk_ack.write import Marker, PagesLeft, Portion, Target
from pipeline.shared_by_jobs import bitmaps
from pipeline.table_frames.tables import Tables

ALL = (1 << 1024) - 1
TABLES = Tables("batches", "pages")


class Throttled(MemoryStore):
    """Refuses so many writes of pages before it takes one."""

    refusals = 0
    every_other = False
    writes = 0

    def create_pages(self, *args):
        self.writes += 1
        if self.every_other and self.writes % 2:
            raise StoreUnavailable("the store is busy; ask again")
        if self.refusals:
            self.refusals -= 1
            raise StoreUnavailable("the store is busy; ask again")
        return super().create_pages(*args)


class Spending(Meter):
    """Counts ten write units a look."""

    def take(self, kind: str) -> float:
        return 10.0 if kind == "write_units" else 0.0


@pytest.fixture
def tracker():
    return Tracker(Throttled(), pause=lambda _: None)


def opened(tracker, count) -> str:
    batch = tracker.open("tenant", OpenBatch())
    tracker.add("tenant", batch.batch_id, count)
    return batch.batch_id


def mark(tracker, *portions, rate=None, meter=None) -> tuple[list[dict], list[float]]:
    pauses: list[float] = []
    marker = Marker(tracker, Target(TABLES, "tenant", "bulk", rate), meter or Meter(), pauses.append)
    return list(marker.mark_all(portions)), [pause for pause in pauses if pause]


def test_a_portion_is_reported_item_by_item(tracker):
    batch_id = opened(tracker, 3000)
    mark(tracker, Portion(batch_id, {0: PageMasks(0b01, 0b10)}))

    (row,), _ = mark(tracker, Portion(batch_id, {0: PageMasks(0b111), 1: PageMasks(0b1000, 0b111)}))

    expected = {"pages": 2, "written": 2, "fresh": 5, "failed": 3, "healed": 1, "accepted": 6, "duplicate": 1}
    assert {name: row[name] for name in expected} == expected
    assert row["batch_id"] == batch_id
    assert set(row) == set(MARKED.names)


def test_a_hundred_pages_of_one_batch_are_written_together():
    none = bytes(bitmaps.MASK_BYTES)
    pages = [("a", page) for page in range(150)] + [("b", 0), ("b", 1)]
    rows = [{"batch_id": one, "page": page, "bits": none, "failed": none} for one, page in pages]
    batches = [pa.RecordBatch.from_pylist(some, schema=PAGE_MASKS) for some in (rows[:70], rows[70:])]

    found = [(one.batch_id, len(one.pages)) for one in write.portions(batches)]

    assert found == [("a", 100), ("a", 50), ("b", 2)]


def test_pages_of_a_batch_with_failures_are_written_by_one_task_and_others_by_several(spark):
    some = bitmaps.from_mask(1)
    rows = [
        (one, block, some, failed) for one, failed in (("bad", some), ("good", None)) for block in range(8)
    ]

    found = frames.spread(spark.createDataFrame(rows, frames.BLOCK), 4)

    tasks = found.withColumn("task", spark_partition_id()).select("batch_id", "task").distinct().collect()
    assert [row.batch_id for row in tasks].count("bad") == 1
    assert [row.batch_id for row in tasks].count("good") > 1
    pages = [(one, 32 * block, mask, failed or bytes(len(mask))) for one, block, mask, failed in rows]
    rows = pa.Table.from_pylist(
        [dict(zip(PAGE_MASKS.names, page, strict=True)) for page in pages], PAGE_MASKS
    )
    shares = [set(share["batch_id"].to_pylist()) for share in dealt(rows, 4)]
    assert sum("bad" in share for share in shares) == 1 < sum("good" in share for share in shares)


@pytest.mark.parametrize("states", [("CLOSED", "COMPLETE", "OPEN"), ("CLOSED", None, "COMPLETE")])
def test_the_state_of_a_batch_is_the_latest_that_a_task_read(states):
    counts = dict.fromkeys(write.SUMMED, 2)
    outcomes = [{"batch_id": one, **counts, "state": state} for state in states for one in "ab"]

    (first, second) = write.united(outcomes)

    latest = None if None in states else "COMPLETE"
    assert (first, second["batch_id"]) == (
        {"batch_id": "a", **dict.fromkeys(counts, 6), "state": latest},
        "b",
    )


def test_each_page_has_its_own_attempts(tracker):
    batch_id = opened(tracker, 30 * 1024)
    tracker.store.every_other = True

    mark(tracker, Portion(batch_id, {number: PageMasks(ALL) for number in range(30)}))

    assert tracker.progress(tracker.get("tenant", batch_id)).acked == 30 * 1024


def test_a_page_that_the_store_goes_on_refusing_is_named(tracker):
    batch_id = opened(tracker, 9 * 1024)
    tracker.store.refusals = 10**6

    with pytest.raises(PagesLeft, match=f"page 3 of batch {batch_id} .*run the job again"):
        mark(tracker, Portion(batch_id, {number: PageMasks(ALL) for number in (3, 8)}))


def test_a_batch_that_is_gone_meanwhile_is_reported_and_keeps_none_back(tracker):
    gone, there = "00000000-0000-4000-8000-000000000009", opened(tracker, 5)

    rows, _ = mark(tracker, Portion(gone, {0: PageMasks(0b111)}), Portion(there, {0: PageMasks(0b1)}))

    assert [(row["not_found"], row["accepted"]) for row in rows] == [(3, 0), (0, 1)]


@pytest.mark.parametrize(("rate", "expected"), [(0.001, [1, 2, 3]), (None, [])])
def test_a_task_with_a_rate_rests_until_the_units_that_it_spent_are_due(tracker, rate, expected):
    portions = [Portion(opened(tracker, 5), {0: PageMasks(1)}) for _ in range(3)]

    _, rests = mark(tracker, *portions, rate=rate, meter=Spending())

    assert [round(pause / 10_000) for pause in rests] == expected


def test_reasons_are_kept_of_what_failed(tracker, monkeypatch):
    monkeypatch.setattr(write, "_tracker", lambda tables: tracker)
    batch = tracker.open("tenant", OpenBatch())
    group = tracker.add("tenant", batch.batch_id, 300).groups[0]
    mark(tracker, Portion(batch.batch_id, {0: PageMasks(0, (1 << 250) - 1)}))
    failures = [
        {"batch_id": batch.batch_id, "item_id": f"{batch.batch_id}:{group.id}:{i}", "reason": f"why {i}"}
        for i in (0, 120, 249, 299, *range(1, 120))
    ]

    write.keep_reasons(Target(TABLES, "tenant", "bulk"), failures)

    kept = {sample.reason for sample in tracker.samples(tracker.get("tenant", batch.batch_id))}
    assert {"why 0", "why 120", "why 249"} <= kept
    assert "why 299" not in kept
    assert len(kept) > OFFERS_A_REQUEST


def test_folded_acks_take_a_read_and_at_most_two_writes_a_page_and_seven_where_some_failed():
    assert estimate_acks(pages=100, failing=10).facts() == {
        "reads": 100,
        "mostWrites": 90 * 2 + 10 * 7,
        "mostDollars": round((100 * 0.125 + 250 * 0.625) / 1e6, 4),
        "price": "under $0.01",
    }
