"""Logs in, marked pages out: the same whatever is repeated, dies half-way or was said before."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fanin.tracker import Ack, OpenBatch, Outcome, State, Tracker
from fanin.tracker.dynamodb import DynamoStore
from pipeline.bulk_ack import run as bulk_acking
from pipeline.bulk_ack.local import LocalEngine
from pipeline.bulk_ack.run import BulkAckRequest
from pipeline.table_frames.tables import Tables
from tests.pipeline.logs import write_columns, write_log

TENANT = "tenant"
P = 1024
SIZES = [1, 63, 64, 65, P - 1, P, P + 1, 3 * P]


@dataclass(frozen=True, slots=True)
class DyingTables(Tables):
    """Tables on which a task dies once a batch, with its second page written and not counted."""

    folder: str = ""

    @property
    def store(self) -> DynamoStore:
        return DyingStore(self.client, super(DyingTables, self).store.tables, folder=Path(self.folder))


@dataclass(frozen=True)
class DyingStore(DynamoStore):
    folder: Path = Path()

    def create_pages(self, pages, expires_at):
        created = super().create_pages(pages, expires_at)
        died = self.folder / next(iter(pages)).batch.batch_id
        if any(key.number for key in pages) and not died.exists():
            died.touch()
            raise RuntimeError("a task dies on purpose")
        return created


@pytest.fixture(params=["processes", "spark"])
def engine(request):
    """Each engine; the local one in this process, or in others, which start for any work."""
    if request.param != "spark":
        least = {"fold_bytes": 1, "pages": 1} if request.param == "processes" else {}
        return LocalEngine(cores=2, **least)
    from pipeline.bulk_ack.on_spark import SparkEngine

    return SparkEngine(request.getfixturevalue("spark"))


above_the_engines = pytest.mark.parametrize(
    "engine", ["in process", pytest.param("spark", marks=pytest.mark.proof)], indirect=True
)
"""For what is said before an engine folds, or counted after it: other tests hold Spark to the same folds."""


@pytest.fixture
def tracker(tables):
    return Tracker(tables.store)


@pytest.fixture
def bulk_request(tables, tmp_path):
    return BulkAckRequest(tables, TENANT, str(tmp_path / "rejects"), "run")


def opened(tracker, count, close=True, **options):
    """A batch of *count* items: its id, and those of its items."""
    batch = tracker.open(TENANT, OpenBatch(**options))
    group = tracker.add(TENANT, batch.batch_id, count).groups[0]
    if close:
        tracker.close(TENANT, batch.batch_id, "closer")
    return batch.batch_id, [f"{batch.batch_id}:{group.id}:{index}" for index in range(count)]


EACH_FORMAT = ("a.parquet", "day=1/b.jsonl", "day=1/hour=2/c.csv", "day=2/d.parquet")


def scattered(tmp_path, rows, names=("a.parquet", "day=1/b.parquet")):
    """*rows* in random order in logs of these names."""
    rows = random.Random(1).sample(rows, len(rows))
    for number, name in enumerate(names):
        write_log(tmp_path / "logs" / name, rows[number :: len(names)])
    return [str(tmp_path / "logs")]


def run(engine, bulk_request, paths, report=lambda *_: None):
    return bulk_acking.bulk_ack(engine, engine.list_logs(paths), bulk_request, report)


def pages_of(tables):
    """Every row of the table of pages."""
    rows = tables.client.scan(TableName=tables.pages, ConsistentRead=True)["Items"]
    return sorted(rows, key=lambda row: row["pk"]["S"])


@above_the_engines
def test_batches_of_any_size_complete(engine, tracker, bulk_request, tmp_path):
    batches = dict(opened(tracker, size) for size in SIZES)
    rows = [item for ids in batches.values() for item in ids]
    events: list = []

    paths = scattered(tmp_path, rows + rows, EACH_FORMAT)
    totals = run(engine, bulk_request, paths, lambda *fact: events.append(fact))

    found = [tracker.get(TENANT, batch_id) for batch_id in batches]
    assert {(batch.state, batch.completed_by) for batch in found} == {(State.COMPLETE, "bulk-ack:run")}
    assert (totals["fresh"], totals["duplicate"], totals["rejected"]) == (len(rows), 0, 0)
    event, facts = events[-1]
    expected = {"acks": 2 * len(rows), "items": len(rows), "repeated": len(rows), "batches": 8, "complete": 8}
    assert (event, {name: facts[name] for name in expected}) == ("acked", expected)
    assert [event for event, _ in events if event not in ("working", "progress")] == ["folded", "acked"]


@above_the_engines
def test_failures_are_counted_healed_and_explained_and_a_second_run_writes_nothing(
    engine, tables, tracker, bulk_request, tmp_path
):
    batch_id, ids = opened(tracker, 2 * P)
    tracker.ack(TENANT, [Ack.of(item, "early", Outcome.FAILURE, "early") for item in ids[:4]])
    failed = [(item, "failure", f"why {number}") for number, item in enumerate(ids[1000:1100])]
    wrong = [("junk", "success", "odd"), (f"{ids[1]}0000", None, None), (ids[3], "neither", None)]
    rows = [*ids[2:3], *ids[4:1010], *failed, *failed, (ids[1], "failure", "late"), *wrong]
    paths = scattered(tmp_path, rows)

    first, before = run(engine, bulk_request, paths), pages_of(tables)
    saved = pq.read_table(f"{bulk_request.rejects}/run=run", partitioning=None).to_pylist()
    second = run(engine, bulk_request, paths)

    batch = tracker.get(TENANT, batch_id)
    stretches = [(found.first, found.last) for found in tracker.failures(batch).ranges]
    assert (batch.failed, stretches) == (3 + 90, [(0, 1), (3, 3), (1010, 1099)])
    assert (first["failed"], first["healed"], first["written"]) == (90, 1, 2)
    assert [second[name] for name in ("fresh", "failed", "healed", "written", "write_units")] == [0] * 5
    assert second["duplicate"] == first["fresh"] + first["healed"] + first["duplicate"]
    assert pages_of(tables) == before
    assert {
        (row["item_id"], row["outcome"], row["reason"]): (row["refusal"], row["file"][:6]) for row in saved
    } == dict(zip(wrong, [(why, "file:/") for why in ("malformed", "out_of_range", "outcome")], strict=True))
    kept = {sample.reason for sample in tracker.samples(batch)}
    assert {"early"} < kept <= {"early", *(f"why {number}" for number in range(10, 100))}


@above_the_engines
def test_acks_of_batches_that_are_over_are_distinguished(engine, tracker, bulk_request, tmp_path):
    cancelled, ids = opened(tracker, 10)
    tracker.ack(TENANT, [Ack.of(ids[0], "early")])
    tracker.cancel(TENANT, cancelled)
    _, ended = opened(tracker, 10, max_failures=1)
    tracker.ack(TENANT, [Ack.of(ended[0], "early", Outcome.FAILURE)])
    _, open_one = opened(tracker, 10, close=False)

    totals = run(engine, bulk_request, scattered(tmp_path, [*ids[:3], *ended[:5], *open_one[:2]]))

    events = {name: totals[name] for name in ("cancelled", "late", "duplicate", "fresh")}
    assert events == {"cancelled": 2, "late": 4, "duplicate": 2, "fresh": 2}


def test_indexes_and_ranges_in_folders_of_their_batch_complete_it(engine, tracker, bulk_request, tmp_path):
    batch_id, ids = opened(tracker, 3 * P + 5)
    folder, group = tmp_path / "logs" / f"batch_id={batch_id}", ids[0].split(":")[1]
    write_columns(folder / "a.parquet", {"group_id": [group] * P, "index": range(P)})
    ends = {"first": [P, 2 * P, 0], "last": [2 * P - 1, 3 * P + 4, 3 * P + 5]}
    write_columns(folder / "b.csv", {"group_id": [group] * 3, **ends})

    totals = run(engine, bulk_request, [str(tmp_path / "logs")])

    assert tracker.get(TENANT, batch_id).state is State.COMPLETE
    assert (totals["fresh"], totals["duplicate"], totals["rejected"]) == (len(ids), 0, 1)


def test_a_task_that_dies_half_way_and_is_run_again_leaves_the_same(
    engine, tables, tracker, bulk_request, tmp_path
):
    batches = dict(opened(tracker, 5 * P + 1) for _ in range(2))
    positions = [(at, item) for ids in batches.values() for at, item in enumerate(ids)]
    rows = [(item, "failure" if at < P and at % 100 == 0 else None) for at, item in positions]
    died = tmp_path / "died"
    died.mkdir()
    dying = DyingTables(tables.batches, tables.pages, tables.region, tables.endpoint, str(died))

    totals = run(engine, replace(bulk_request, tables=dying), scattered(tmp_path, rows))

    found = [tracker.get(TENANT, batch_id) for batch_id in batches]
    assert {(batch.state, batch.failed) for batch in found} == {(State.COMPLETE, 11)}
    assert 0 < totals["fresh"] < len(rows)
    assert totals["fresh"] + totals["duplicate"] == len(rows)


@above_the_engines
def test_a_log_that_cannot_be_read_stops_the_job_before_anything_is_marked(
    engine, tables, tracker, bulk_request, tmp_path
):
    _, ids = opened(tracker, 10, close=False)
    paths = scattered(tmp_path, ids)
    (tmp_path / "logs" / "damaged.parquet").write_bytes(b"PAR1")

    with pytest.raises(Exception, match=r"damaged\.parquet cannot be read"):
        run(engine, bulk_request, paths)
    assert pages_of(tables) == []


@above_the_engines
def test_a_dry_run_counts_and_writes_nothing(engine, tables, tracker, bulk_request, tmp_path):
    _, ids = opened(tracker, 2 * P + 5, close=False)
    rows = [*ids, *ids[:100], (ids[5], "failure"), (ids[P], "failure"), "junk"]
    events: list = []

    logs = engine.list_logs(scattered(tmp_path, rows))
    bulk_acking.preview(engine, logs, bulk_request, lambda *fact: events.append(fact))

    event, facts = events[-1]
    expected = {"acks": len(rows), "items": 2 * P + 5, "pages": 3, "rejected": 1, "failures": 0, "reads": 3}
    assert (event, {name: facts[name] for name in expected}) == ("estimate", expected)
    assert pages_of(tables) == []
    assert not (tmp_path / "rejects").exists()


def test_a_rate_is_shared_by_the_tasks_that_run_at_once(bulk_request):
    assert bulk_request.target(4).rate is None
    assert BulkAckRequest(bulk_request.tables, TENANT, "", "run", 100.0).target(4).rate == 25.0
