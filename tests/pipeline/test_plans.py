"""What a job finds follows neither from the plan of Spark, nor from skew, nor from a task that runs twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from fanin.tracker import OpenBatch, State, Tracker
from pipeline.bulk_ack import write
from pipeline.bulk_ack.frames import blocks as blocks_of
from pipeline.bulk_ack.local import LocalEngine
from pipeline.bulk_ack.on_spark import SparkEngine
from pipeline.bulk_ack.rows import to_page_masks, unpacked
from pipeline.bulk_ack.run import BulkAckRequest
from pipeline.history_tables.change_frames.archive import Archive, Days
from pipeline.history_tables.change_frames.reading import changes
from pipeline.history_tables.items import items
from pipeline.table_audit import run as auditing
from pipeline.table_frames import frames
from tests.pipeline.exporting import rows_of, write_tables
from tests.pipeline.history_tables.histories import cast
from tests.pipeline.logs import write_log
from tests.pipeline.worlds import PAGE_BITS, World, closed

TENANT = "tenant"
LARGE, SMALL, SMALL_BATCHES = 9900, 10, 10
"""99 % of the rows are of one batch."""
PLANS = {
    "one partition": {"adaptive.enabled": "false", "shuffle.partitions": "1"},
    "many partitions": {"adaptive.enabled": "false", "shuffle.partitions": "7"},
    "adaptive": {
        "adaptive.enabled": "true",
        "shuffle.partitions": "7",
        "adaptive.advisoryPartitionSizeInBytes": "1k",
        "adaptive.skewJoin.skewedPartitionThresholdInBytes": "1k",
        "adaptive.skewJoin.skewedPartitionFactor": "1",
    },
}


@contextmanager
def planned(spark, name: str) -> Iterator[None]:
    """Plan queries by PLANS while the body runs."""
    settings = {f"spark.sql.{key}": value for key, value in PLANS[name].items()}
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


def found_by_plan(spark, rows) -> list[list]:
    """What *rows* returns, in order, by each plan."""
    found = []
    for name in PLANS:
        with planned(spark, name):
            found.append(sorted(rows(), key=str))
    return found


def opened(tracker: Tracker, count: int) -> list[str]:
    """The ids of the items of a new batch."""
    batch_id = tracker.open(TENANT, OpenBatch()).batch_id
    group = tracker.add(TENANT, batch_id, count).groups[0]
    tracker.close(TENANT, batch_id, "closer")
    return [f"{batch_id}:{group.id}:{index}" for index in range(count)]


def folded(engine, request, path) -> tuple:
    """The counts and the page masks that *engine* folds."""
    with engine.fold(engine.list_logs([path]), request, lambda *_: None) as fold:
        if isinstance(engine, LocalEngine):
            return fold.counts, sorted(fold.page_masks.to_pylist(), key=str)
        blocks = blocks_of(fold.frame).toArrow().to_batches()
        masks = (row for batch in to_page_masks(unpacked(blocks)) for row in batch.to_pylist())
        return fold.counts, sorted(masks, key=str)


def test_logs_with_nearly_all_rows_in_one_batch_fold_to_the_same(spark, tables, tmp_path):
    tracker, request = Tracker(tables.store), BulkAckRequest(tables, TENANT, str(tmp_path / "r"), "run")
    ids = [item for count in [LARGE, *[SMALL] * SMALL_BATCHES] for item in opened(tracker, count)]
    for part in range(3):
        rows = [(item, "failure" if at % 97 == 0 else None) for at, item in enumerate(ids)][part::3]
        write_log(tmp_path / "logs" / f"{part}.parquet", [*rows, "junk", *rows[:5]])
    expected = folded(LocalEngine(cores=1), request, str(tmp_path / "logs"))

    found = found_by_plan(spark, lambda: [folded(SparkEngine(spark), request, str(tmp_path / "logs"))])

    assert found == [[expected]] * len(PLANS)
    assert (expected[0].items, expected[0].rejected) == (len(ids), {"malformed": 3})


def test_the_audit_of_one_large_batch_among_small_ones_finds_the_same(spark, tmp_path):
    worlds = large, *_ = [World(total=PAGE_BITS * 60), *(closed() for _ in range(3))]
    large.ack(0, PAGE_BITS * 59 - 1)
    for world in worlds:
        world.change_page(0, 3, n=1)
    snapshot = frames.from_exports(
        spark, write_tables(tmp_path, (row for world in worlds for row in rows_of(world.store)))
    )

    def found():
        return auditing.findings(snapshot.pages, snapshot.batches, snapshot.taken_at).collect()

    first, *more = found_by_plan(spark, found)

    assert more == [first] * len(more)
    assert {row.batch_id for row in first} == {world.key.batch_id for world in worlds}


@pytest.fixture(scope="module")
def archive() -> str:
    return cast().archive


def test_the_history_has_the_same_items(spark, archive):
    pages = changes(spark, Archive(archive), "pages", Days())
    first, *more = found_by_plan(spark, lambda: items(pages).collect())

    assert first
    assert more == [first] * len(more)


def test_two_attempts_of_a_task_at_once_write_each_item_once(tables, tmp_path):
    """Speculation: Spark starts a slow task again, and both attempts write the same pages."""
    tracker, request = Tracker(tables.store), BulkAckRequest(tables, TENANT, str(tmp_path / "r"), "run")
    ids = opened(tracker, 5000)
    rows = [(item, "failure" if at % 1000 == 0 else None) for at, item in enumerate(ids)]
    path = write_log(tmp_path / "logs.parquet", rows)
    engine = LocalEngine(cores=1)

    def attempt(found):
        return list(write.mark(found.to_batches(), request.target(2), write.Tally(Ignored(), Ignored())))

    folding = engine.fold(engine.list_logs([str(path)]), request, lambda *_: None)
    with folding as fold, ThreadPoolExecutor(2) as both:
        marked = [row for some in both.map(attempt, [fold.page_masks] * 2) for row in some]

    batch = tracker.get(TENANT, ids[0].partition(":")[0])
    assert (batch.state, batch.failed) == (State.COMPLETE, 5)
    assert sum(row["fresh"] for row in marked) == len(ids)


class Ignored:
    """A count without a reader."""

    value = 0

    def add(self, term: int) -> None:
        """Forget *term*."""
