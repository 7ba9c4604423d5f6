"""Rows of a source are named where their items are withheld, in whatever shape the batch's pages are."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from fanin import Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import State, Tracker
from fanin.tracker.memory import MemoryStore
from pipeline.fan_out import manifest
from pipeline.jobs import reconcile
from pipeline.reconcile import run as reconciling
from pipeline.reconcile.run import CannotReconcile, ReconcileRequest
from pipeline.snapshot import frames
from pipeline.snapshot.rows import facts_of
from pipeline.spark import datasets
from pipeline.spark.output import AlreadyThere, NotOurs
from tests.pipeline.exporting import TAKEN_AT, rows_of, write_export
from tests.pipeline.manifests import damage_records

UNKNOWN = "279c2b71-e1f5-4990-bd17-501cbba536f4"
ITEMS = 992
PAGE_BITS = 64
WITHHELD = {0, 5, 63, 64, 300, 301, 302, 900, 991}
FAILED = {7, 64 * 3 + 1}


def quiet(event: str, facts: dict) -> None:
    """Ignore the event."""


@pytest.fixture(scope="module")
def source(spark, tmp_path_factory) -> str:
    """A manifest of the catalog's slice."""
    path = str(tmp_path_factory.mktemp("source") / "manifest")
    rows = datasets.read_dataset(spark, str(datasets.CATALOG_SLICE)).repartition(5)
    manifest.write(rows, path, run="run-1", source="a dataset")
    return path


class World:
    """A tracker in memory, its exports, and what reconcile saves."""

    def __init__(self, spark, source: str, folder: Path) -> None:
        self.store, self.spark, self.source, self.folder = MemoryStore(), spark, source, folder
        self.api = Fanin(DirectTransport(Tracker(self.store, page_bits=PAGE_BITS), "tenant"))
        self.exports = 0

    def batch(self, *counts: int) -> tuple[str, list]:
        """A closed batch of such groups."""
        batch = self.api.open()
        groups = [batch.add(count) for count in counts]
        batch.close()
        return batch.id, groups

    def export(self, change: Callable[[dict], dict] = lambda row: row) -> list[str]:
        """Both tables, exported as they are now."""
        self.exports += 1
        rows, folder = [change(row) for row in rows_of(self.store)], self.folder / str(self.exports)
        return [
            write_export(folder, [row for row in rows if "sk" in row], table="Batches"),
            write_export(folder, [row for row in rows if "sk" not in row], table="Pages"),
        ]

    def request(self, batch_id: str, **more) -> ReconcileRequest:
        return replace(
            ReconcileRequest(batch_id, self.source, str(self.folder / f"saved-{self.exports}")), **more
        )

    def reconciled(self, batch_id: str, **more) -> tuple[reconciling.Label, dict]:
        """The label of what was saved after an export, and its rows by their positions."""
        snapshot = frames.from_exports(self.spark, self.export(), batch_id)
        request = self.request(batch_id, **more)
        reconciling.reconcile(self.spark, snapshot, request, quiet)
        label, rows = reconciling.load(self.spark, request.saved)
        return label, {row.position: row for row in rows.collect()}


@pytest.fixture
def world(spark, source, tmp_path) -> World:
    return World(spark, source, tmp_path)


def all_but(items, withheld: Iterable[int]) -> list[str]:
    return [items[index] for index in range(len(items)) if index not in withheld]


def test_exactly_the_items_that_were_withheld_are_named_with_their_ids_and_records(world, source):
    batch_id, (items,) = world.batch(ITEMS)
    world.api.ack(all_but(items, WITHHELD))

    label, rows = world.reconciled(batch_id)

    committed, _ = manifest.load(world.spark, source)
    placed = manifest.positions(committed, manifest.measure(committed.rows)).where("position < 6").collect()
    assert {index: row.item_id for index, row in rows.items()} == {index: items[index] for index in WITHHELD}
    assert [rows[row.position].record for row in placed if row.position in WITHHELD] == [
        row.record for row in placed if row.position in WITHHELD
    ]
    assert label == reconciling.Label(
        "tenant", batch_id, items.group_id, PAGE_BITS, TAKEN_AT.isoformat(), source
    )


def test_failed_items_are_named_too_where_they_are_asked_for(world):
    batch_id, (items,) = world.batch(ITEMS)
    world.api.ack(all_but(items, WITHHELD | FAILED))
    world.api.fail(items[index] for index in FAILED)

    _, rows = world.reconciled(batch_id, failed=True)

    assert {index for index, row in rows.items() if not row.failed} == WITHHELD
    assert {index for index, row in rows.items() if row.failed} == FAILED


def test_all_is_outstanding_at_first_and_nothing_at_the_end(world):
    batch_id, (items,) = world.batch(ITEMS)
    _, at_first = world.reconciled(batch_id)
    world.api.ack(items)
    _, at_the_end = world.reconciled(batch_id)

    assert (set(at_first), at_the_end) == (set(range(ITEMS)), {})
    assert world.api.get(batch_id).state is State.COMPLETE


def test_parts_without_an_outstanding_item_are_not_read(world, source, tmp_path):
    copy = tmp_path / "manifest"
    shutil.copytree(source, copy)
    world.source = str(copy)
    sizes = [part.rows for part in manifest.count(manifest.load(world.spark, world.source)[0])]
    withheld = {sizes[0] - 1, sizes[0], sum(sizes[:2])}
    batch_id, (items,) = world.batch(ITEMS)
    world.api.ack(all_but(items, withheld))
    damage_records(copy, {3, 4})

    assert set(world.reconciled(batch_id)[1]) == withheld


def test_every_other_leaf_is_outstanding(world):
    batch_id, (items,) = world.batch(ITEMS)
    withheld = {index for index in range(ITEMS) if index // PAGE_BITS % 2}
    world.api.ack(all_but(items, withheld))

    _, rows = world.reconciled(batch_id)

    assert {index: row.item_id for index, row in rows.items()} == {index: items[index] for index in withheld}


def test_many_leaves_are_joined_by_a_shuffle_with_the_same_outcome(world, monkeypatch):
    monkeypatch.setattr(reconciling, "BROADCAST_PAGES", 0)
    batch_id, (items,) = world.batch(ITEMS)
    world.api.ack(all_but(items, WITHHELD))

    assert set(world.reconciled(batch_id)[1]) == WITHHELD


def test_the_rows_of_one_group_of_several_lie_where_the_group_lies(world):
    batch_id, (before, items, after) = world.batch(100, ITEMS, 7)
    world.api.ack([*before[:50], *all_but(items, WITHHELD), *after[:3]])

    _, rows = world.reconciled(batch_id, group_id=items.group_id)

    assert {place: row.item_id for place, row in rows.items()} == {100 + i: items[i] for i in WITHHELD}


def facts(world: World, batch_id: str) -> dict:
    (batch,) = (batch for batch in world.store.batches.values() if batch.batch_id == batch_id)
    return facts_of(batch)


def test_a_batch_of_one_group_is_that_group(world):
    batch_id, (items,) = world.batch(ITEMS)

    part = reconciling.part_of(facts(world, batch_id), ITEMS, None)

    assert (part.group_id, part.start, part.upto) == (items.group_id, 0, ITEMS)


@pytest.mark.parametrize("group_id", ["58d9d56b-8361-8f2d-866d-f2cd7edf87cc", UNKNOWN, "nonsense", ""])
def test_a_group_that_the_batch_did_not_hand_out_is_refused(world, group_id):
    batch_id, _ = world.batch(5, ITEMS)

    with pytest.raises(CannotReconcile, match="is not a group of batch"):
        reconciling.part_of(facts(world, batch_id), ITEMS, group_id)


@pytest.mark.parametrize("counts", [(ITEMS + 1,), (ITEMS, 1), ()])
def test_a_manifest_of_another_size_than_the_batch_is_refused(world, counts):
    batch_id, _ = world.batch(*counts)

    with pytest.raises(CannotReconcile, match="with --group"):
        reconciling.part_of(facts(world, batch_id), ITEMS, None)


def test_a_manifest_of_another_size_than_its_group_is_refused(world):
    batch_id, (items,) = world.batch(ITEMS + 1)

    with pytest.raises(CannotReconcile, match="manifest of another group"):
        reconciling.part_of(facts(world, batch_id), ITEMS, items.group_id)


def test_a_batch_that_is_not_there_is_refused(world):
    snapshot = frames.from_exports(world.spark, world.export())

    with pytest.raises(CannotReconcile, match="has 0 rows in what was read"):
        reconciling.reconcile(
            world.spark, snapshot, world.request("58d9d56b-8361-8f2d-866d-f2cd7edf87cc"), quiet
        )


def test_a_source_that_is_no_manifest_is_refused(world):
    batch_id, _ = world.batch(ITEMS)
    snapshot = frames.from_exports(world.spark, world.export())

    with pytest.raises(CannotReconcile, match="no manifest is committed at /nowhere"):
        reconciling.reconcile(world.spark, snapshot, world.request(batch_id, source="/nowhere"), quiet)


def test_an_estimated_batch_does_not_know_what_is_outstanding(world):
    batch = world.api.open(mode="estimated")
    batch.add(ITEMS)

    with pytest.raises(CannotReconcile, match="counts acks and keeps no items"):
        world.reconciled(batch.id)


def test_a_batch_whose_pages_may_be_gone_is_refused(world):
    batch_id, _ = world.batch(ITEMS)
    snapshot = frames.from_exports(world.spark, world.export())
    late = frames.TableSnapshot(snapshot.taken_at.replace(year=2028), snapshot.rows)

    with pytest.raises(CannotReconcile, match="its pages may have been deleted"):
        reconciling.reconcile(world.spark, late, world.request(batch_id), quiet)


def test_a_page_that_cannot_be_read_is_not_taken_for_one_on_which_nothing_was_acked(world):
    batch_id, (items,) = world.batch(ITEMS)
    world.api.ack(items[:200])
    broken = world.export(lambda row: row | {"n": {"N": "many"}} if row["pk"]["S"].endswith("#0#3") else row)
    snapshot = frames.from_exports(world.spark, broken, batch_id)

    with pytest.raises(
        CannotReconcile, match=r"malformed rows in the tables .*\n.*n is 'many'; expected a whole number"
    ):
        reconciling.reconcile(world.spark, snapshot, world.request(batch_id), quiet)


def test_what_was_found_before_is_not_written_over(world):
    batch_id, _ = world.batch(ITEMS)
    world.reconciled(batch_id)

    with pytest.raises(AlreadyThere, match="name another --out"):
        world.reconciled(batch_id, saved=str(world.folder / "saved-1"))


def test_what_reconcile_did_not_write_is_not_written_over(world):
    batch_id, _ = world.batch(ITEMS)
    kept = world.folder / "kept" / "notes.txt"
    kept.parent.mkdir()
    kept.write_text("dear")

    with pytest.raises(NotOurs, match=r"kept holds notes\.txt, which this job did not write"):
        world.reconciled(batch_id, saved=str(kept.parent))

    assert kept.read_text() == "dear"


@pytest.mark.parametrize("written", [False, True])
def test_only_what_reconcile_saved_is_loaded(spark, tmp_path, written):
    if written:
        spark.range(3).write.parquet(str(tmp_path / "rows"))

    with pytest.raises(CannotReconcile, match="reconcile saved"):
        reconciling.load(spark, str(tmp_path / "rows"))


@pytest.fixture
def job(world, monkeypatch):
    """Runs the job over new exports, in the session of the tests."""
    monkeypatch.setattr(reconcile, "spark_session", lambda name, cores: nullcontext(world.spark))

    def run(batch_id: str, *more: str) -> None:
        batches, found = world.export()
        places = ["--manifest", world.source, "--out", str(world.folder / "out")]
        exports = ["--batches-export", batches, "--pages-export", found]
        reconcile.main(["--batch", batch_id, *places, *exports, *more])

    return run


def test_the_job_says_what_it_found(world, job, capsys):
    batch_id, (items,) = world.batch(ITEMS)
    world.api.ack(all_but(items, WITHHELD))

    job(batch_id, "--json")

    events = {event["event"]: event for event in map(json.loads, capsys.readouterr().out.splitlines())}
    assert events["batch"]["state"] == "CLOSED"
    assert (events["saved"]["outstanding"], events["saved"]["rows"]) == (len(WITHHELD), ITEMS)
    assert "salt" not in str(events)


def test_events_print_as_sentences(world, job, capsys):
    batch_id, (items,) = world.batch(ITEMS)
    world.api.ack(items)

    job(batch_id)

    assert "of 992 rows 0 outstanding, 0 failed" in capsys.readouterr().out


def test_a_mistake_of_the_caller_is_one_line(job):
    with pytest.raises(SystemExit, match="reconcile: a batch id is a UUID in lower case"):
        job("58D9")


@pytest.mark.parametrize("named", [[], ["--batches-table", "B"], ["--pages-export", "/x"]])
def test_both_tables_are_to_be_named(named, capsys):
    with pytest.raises(SystemExit):
        reconcile.main(["--batch", "x", "--manifest", "m", "--out", "o", *named])

    assert "name both tables" in capsys.readouterr().err
