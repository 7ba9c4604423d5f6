"""Rows of a source are named where their items are withheld, in whatever shape the batch's pages are."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fanin import Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from pipeline.engine_without_spark.engines import LOCAL, SPARK
from pipeline.fan_out import manifest
from pipeline.jobs import reconcile
from pipeline.reconcile import local, local_redrive
from pipeline.reconcile import run as reconciling
from pipeline.reconcile.rules import CannotReconcile, ReconcileRequest, part_of
from pipeline.shared_by_jobs import datasets, session
from pipeline.shared_by_jobs.output import NotOurs
from pipeline.table_frames import frames
from pipeline.table_frames.rows import facts_of
from tests.pipeline.exporting import TAKEN_AT, put_rows, rows_of, write_tables

UNKNOWN = "279c2b71-e1f5-4990-bd17-501cbba536f4"
ITEMS = 992
PAGE_BITS = 64
WITHHELD = {0, 5, 63, 64, 300, 301, 302, 900, 991}
FAILED = {7, 64 * 3 + 1}


@pytest.fixture(scope="module")
def source(spark, tmp_path_factory) -> str:
    """A manifest of the catalog's slice."""
    path = str(tmp_path_factory.mktemp("source") / "manifest")
    rows = datasets.read_dataset(spark, str(datasets.CATALOG_SLICE)).repartition(5)
    manifest.write(rows, path, run="run-1", source="a dataset")
    return path


class World:
    """A tracker in memory, its exports, and what reconcile saves."""

    def __init__(self, spark, source: str, folder: Path, engine: str = SPARK) -> None:
        self.store, self.spark, self.source, self.folder = MemoryStore(), spark, source, folder
        self.engine = engine
        self.api = Fanin(DirectTransport(Tracker(self.store, page_bits=PAGE_BITS), "tenant"))
        self.events: dict[str, dict] = {}

    def batch(self, *counts: int) -> tuple[str, list]:
        """A closed batch of such groups."""
        batch = self.api.open()
        groups = [batch.add(count) for count in counts]
        batch.close()
        return batch.id, groups

    def export(self, change: Callable[[dict], dict] = lambda row: row) -> list[str]:
        """Both tables, exported as they are now."""
        return write_tables(self.folder, map(change, rows_of(self.store)))

    def reconcile(self, batch_id: str, change: Callable = lambda row: row, days: int = 0, **more) -> str:
        """Reconcile a changed export, so many days after it was taken; the path of what is saved."""
        request = ReconcileRequest(batch_id, self.source, str(self.folder / "saved"))
        request = replace(request, **more)
        if self.engine == LOCAL:
            found = local.from_exports(self.export(change), batch_id, 1)
            local.reconcile(replace(found, taken_at=found.taken_at + timedelta(days)), request, self.report)
            return request.saved
        snapshot = frames.from_exports(self.spark, self.export(change), batch_id)
        late = frames.TableSnapshot(snapshot.taken_at + timedelta(days), snapshot.rows)
        reconciling.reconcile(self.spark, late, request, self.report)
        return request.saved

    def report(self, event: str, facts: dict) -> None:
        self.events[event] = facts

    def reconciled(self, batch_id: str, **more) -> tuple[reconciling.Label, dict]:
        """The label of what was saved, and its rows by their positions."""
        path = self.reconcile(batch_id, **more)
        label, rows = reconciling.load(self.spark, path)
        assert local_redrive.load(path).label == label
        return label, {row.position: row for row in rows.collect()}


@pytest.fixture(params=[SPARK, LOCAL])
def world(request, spark, source, tmp_path) -> World:
    return World(spark, source, tmp_path, request.param)


def all_but(items, withheld: Iterable[int]) -> list[str]:
    return [items[index] for index in range(len(items)) if index not in withheld]


def test_exactly_the_items_that_were_withheld_or_failed_are_named_with_their_ids_and_records(
    world, source, monkeypatch
):
    """Many leaves are joined by a shuffle; those of the other tests are broadcast."""
    monkeypatch.setattr(reconciling, "BROADCAST_PAGES", 0)
    batch_id, (items,) = world.batch(ITEMS)
    world.api.ack(all_but(items, WITHHELD | FAILED))
    world.api.fail(items[index] for index in FAILED)

    label, rows = world.reconciled(batch_id, failed=True)

    committed = manifest.load(world.spark, source)
    placed = manifest.positions(committed, manifest.measure(committed.rows)).where("position < 6").collect()
    assert {index: row.item_id for index, row in rows.items()} == {
        index: items[index] for index in WITHHELD | FAILED
    }
    assert {index for index, row in rows.items() if row.failed} == FAILED
    records = {row.position: row.record for row in placed if row.position in WITHHELD}
    assert {index: rows[index].record for index in records} == records
    assert label == reconciling.Label(
        "tenant", batch_id, items.group_id, PAGE_BITS, TAKEN_AT.isoformat(), source
    )
    assert world.events["batch"]["state"] == "CLOSED"
    saved = {name: world.events["saved"][name] for name in ("outstanding", "failed", "rows")}
    assert saved == {"outstanding": len(WITHHELD), "failed": len(FAILED), "rows": ITEMS}
    assert "salt" not in str(world.events)


def damage_records(folder: Path, parts: Iterable[int]) -> None:
    """Overwrite the records in the files of *parts*; their footers stay."""
    for path in folder.glob("part-*"):
        groups = pq.read_metadata(path)
        content = bytearray(path.read_bytes())
        for group in map(groups.row_group, range(groups.num_row_groups)):
            columns = map(
                group.column, range(group.num_columns) if group.column(0).statistics.min in parts else ()
            )
            for column in (each for each in columns if each.path_in_schema == "record"):
                first = column.dictionary_page_offset or column.data_page_offset
                content[first : first + column.total_compressed_size] = b"\xff" * column.total_compressed_size
        path.write_bytes(content)
        # Hadoop would compare it with the content.
        path.with_name(f".{path.name}.crc").unlink()


@pytest.mark.proof
def test_parts_without_an_outstanding_item_are_not_read(world, source, tmp_path):
    copy = tmp_path / "manifest"
    shutil.copytree(source, copy)
    world.source = str(copy)
    sizes = [part.rows for part in manifest.count(manifest.load(world.spark, world.source))]
    withheld = {sizes[0] - 1, sizes[0], sum(sizes[:2])}
    batch_id, (items,) = world.batch(ITEMS)
    world.api.ack(all_but(items, withheld))
    damage_records(copy, {3, 4})

    assert set(world.reconciled(batch_id)[1]) == withheld


@pytest.mark.proof
def test_the_rows_of_one_group_of_several_lie_where_the_group_lies(world):
    batch_id, (before, items, after) = world.batch(100, ITEMS, 7)
    world.api.ack([*before[:50], *all_but(items, WITHHELD), *after[:3]])

    _, rows = world.reconciled(batch_id, group_id=items.group_id)

    assert {place: row.item_id for place, row in rows.items()} == {100 + i: items[i] for i in WITHHELD}


def facts(world: World, batch_id: str) -> dict:
    (batch,) = (batch for batch in world.store.batches.values() if batch.batch_id == batch_id)
    return facts_of(batch)


def test_a_group_of_several_that_is_named_lies_after_those_before_it(world):
    batch_id, (_, items, _) = world.batch(100, ITEMS, 7)

    part = part_of(facts(world, batch_id), ITEMS, items.group_id)

    assert (part.group_id, part.start, part.upto, part.total) == (items.group_id, 100, ITEMS, 107 + ITEMS)


@pytest.mark.parametrize(
    ("counts", "group_id", "message"),
    [
        ((5, ITEMS), "58d9d56b-8361-8f2d-866d-f2cd7edf87cc", "is not a group of batch"),
        ((5, ITEMS), UNKNOWN, "is not a group of batch"),
        ((5, ITEMS), "nonsense", "is not a group of batch"),
        ((5, ITEMS), "", "is not a group of batch"),
        ((ITEMS + 1,), None, "with --group"),
        ((ITEMS, 1), None, "with --group"),
        ((), None, "with --group"),
    ],
)
def test_a_manifest_of_another_group_than_the_one_that_is_named_is_refused(world, counts, group_id, message):
    batch_id, _ = world.batch(*counts)

    with pytest.raises(CannotReconcile, match=message):
        part_of(facts(world, batch_id), ITEMS, group_id)


def is_malformed(row: dict) -> dict:
    """*row*, malformed if it is that of page 3."""
    return row | {"n": {"N": "many"}} if row["pk"]["S"].endswith("#0#3") else row


REFUSED = {
    "a batch that is not there": ({"batch_id": UNKNOWN}, "has 0 rows in what was read"),
    "no manifest": ({"source": "/nowhere"}, "no manifest is committed at /nowhere"),
    "pages that may be gone": ({"days": 800}, "its pages may have been deleted"),
    "a malformed page": ({"change": is_malformed}, r"malformed rows .*\n.*n is 'many'; expected a whole"),
}


@pytest.mark.parametrize(("request_", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_show_what_is_outstanding_is_refused(world, request_, message):
    batch_id, (items,) = world.batch(ITEMS)
    world.api.ack(items[:200])

    with pytest.raises(CannotReconcile, match=message):
        world.reconcile(**{"batch_id": batch_id, **request_})


def test_an_estimated_batch_does_not_know_what_is_outstanding(world):
    batch = world.api.open(mode="estimated")
    batch.add(ITEMS)

    with pytest.raises(CannotReconcile, match="counts acks and keeps no items"):
        world.reconcile(batch.id)


def test_what_reconcile_did_not_write_is_not_written_over(world):
    batch_id, _ = world.batch(ITEMS)
    kept = world.folder / "kept" / "notes.txt"
    kept.parent.mkdir()
    kept.write_text("dear")

    with pytest.raises(NotOurs, match=r"kept holds notes\.txt, which this job did not write"):
        world.reconcile(batch_id, saved=str(kept.parent))

    assert kept.read_text() == "dear"


@pytest.mark.parametrize("written", [False, True])
def test_only_what_reconcile_saved_is_loaded(spark, tmp_path, written):
    if written:
        spark.range(3).write.parquet(str(tmp_path / "rows"))

    with pytest.raises(CannotReconcile, match="reconcile saved"):
        reconciling.load(spark, str(tmp_path / "rows"))


@pytest.fixture
def job(world, monkeypatch):
    """Runs the job over live tables, or over new exports, in the session of the tests."""
    monkeypatch.setattr(session, "spark_session", lambda name, cores: nullcontext(world.spark))

    def run(batch_id: str, *live: str) -> None:
        batches, found = world.export()
        places = ["--manifest", world.source, "--out", str(world.folder / "out"), "--failed"]
        read = live or ["--batches-export", batches, "--pages-export", found]
        reconcile.main(["--batch", batch_id, "--engine", world.engine, "--cores", "1", *places, *read])

    return run


def test_the_job_says_what_it_found_and_does_not_write_over_it(world, job, capsys):
    batch_id, (items,) = world.batch(ITEMS)
    world.api.ack(items)

    job(batch_id)

    assert "of 992 rows 0 outstanding, 0 failed" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="name another --out"):
        job(batch_id)


def test_live_tables_name_the_same_items_by_a_scan_and_by_the_keys_of_a_tenant(world, job, tables, capsys):
    batch_id, (items,) = world.batch(ITEMS)
    world.api.ack(all_but(items, WITHHELD | FAILED))
    world.api.fail(items[index] for index in FAILED)
    put_rows(tables, rows_of(world.store))
    live = ["--batches-table", tables.batches, "--pages-table", tables.pages]
    live += ["--region", tables.region, "--tables-endpoint-url", tables.endpoint]

    for by in ([], ["--tenant", "tenant"]):
        job(batch_id, *live, *by)
        shutil.rmtree(world.folder / "out")

    assert capsys.readouterr().out.count("of 992 rows 9 outstanding, 2 failed") == 2
    with pytest.raises(SystemExit, match="has 0 rows"):
        job(batch_id, *live, "--tenant", "another")


@pytest.mark.parametrize("named", [[], ["--batches-table", "B"], ["--pages-export", "/x"]])
def test_both_tables_are_to_be_named(named, capsys):
    with pytest.raises(SystemExit):
        reconcile.main(["--batch", "x", "--manifest", "m", "--out", "o", *named])

    assert "name both tables" in capsys.readouterr().err
