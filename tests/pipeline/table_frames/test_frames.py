"""The tables as frames: from an export and from a Scan the same rows come, and none is swallowed."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.shared_by_jobs import schemas
from pipeline.table_frames import frames
from pipeline.table_frames.frames import Segment, scan
from pipeline.table_frames.rows import read_row
from pipeline.table_frames.tables import Tables
from tests.pipeline.exporting import (
    TAKEN_AT,
    batch_row,
    page_row,
    put_rows,
    rows_of,
    write_export,
    write_tables,
)
from tests.pipeline.worlds import closed, complete_with_failures


@pytest.fixture
def worlds():
    return closed(), complete_with_failures()


def exported(tmp_path: Path, *worlds) -> list[str]:
    return write_tables(tmp_path, (row for world in worlds for row in rows_of(world.store)))


def expected_pages(*worlds) -> list[dict]:
    stored = (each for world in worlds for each in world.store.stored_pages.items())
    return in_order(read_row(page_row(*each))[0] for each in stored)


def expected_batches(*worlds) -> list[dict]:
    return in_order(read_row(batch_row(world.batch))[1] for world in worlds)


def in_order(rows) -> list[dict]:
    return sorted(rows, key=lambda row: (row["batch_id"], row.get("level"), row.get("page")))


def rows_in(frame) -> list[dict]:
    return in_order(frame.toArrow().to_pylist())


def assert_holds(snapshot, *worlds) -> None:
    """The frames hold the pages and the batch of each of *worlds*, and no others."""
    assert rows_in(snapshot.pages) == expected_pages(*worlds)
    assert rows_in(snapshot.batches) == expected_batches(*worlds)


def test_an_export_comes_as_the_pages_and_batches_that_were_stored_of_all_or_of_one(spark, tmp_path, worlds):
    exports = exported(tmp_path, *worlds)
    snapshot = frames.from_exports(spark, exports)

    assert_holds(snapshot, *worlds)
    assert_holds(frames.from_exports(spark, exports, worlds[0].key.batch_id), worlds[0])
    assert snapshot.pages.schema.simpleString() == schemas.PAGES.simpleString()
    assert snapshot.batches.schema.simpleString() == schemas.BATCHES.simpleString()
    assert (snapshot.malformed.count(), snapshot.taken_at) == (0, TAKEN_AT)


def test_what_two_exports_say_is_as_old_as_the_older(spark, tmp_path, worlds):
    older = TAKEN_AT.replace(year=2025)
    roots = [write_export(tmp_path, [], table="A"), write_export(tmp_path, [], table="B", taken_at=older)]

    snapshot = frames.from_exports(spark, roots)

    assert (snapshot.taken_at, snapshot.rows.count()) == (older, 0)


def test_malformed_rows_are_named_with_their_place_and_the_others_come(spark, tmp_path, worlds):
    one, _ = worlds
    rows = [row for row in rows_of(one.store) if "sk" not in row]
    rows[3] = rows[3] | {"n": {"N": "many"}}
    root = Path(write_export(tmp_path, rows, files=1))
    (packed,) = [path for path in (root / "data").iterdir() if gzip.decompress(path.read_bytes())]
    packed.write_bytes(packed.read_bytes() + gzip.compress(b"not a row\n"))

    snapshot = frames.from_exports(spark, [str(root)])

    found = {row.location.removeprefix(str(packed)): row.problem for row in snapshot.malformed.collect()}
    assert snapshot.pages.count() == len(rows) - 1
    assert set(found) == {"", ":4", f":{len(rows) + 1}"}
    assert "n is 'many'" in found[":4"]
    assert "the export's manifest says" in found[""]


@pytest.fixture
def stored(tables, worlds) -> Tables:
    """Live tables that hold what the worlds hold."""
    put_rows(tables, (row for world in worlds for row in rows_of(world.store)))
    return tables


def test_a_scan_comes_as_the_same_frames_of_all_or_of_one(spark, stored, worlds):
    assert_holds(frames.from_tables(spark, stored), *worlds)
    assert_holds(frames.from_tables(spark, stored, worlds[0].key.batch_id), worlds[0])


def test_a_batch_by_its_keys_has_its_row_and_its_leaves_and_one_that_is_not_there_nothing(
    spark, stored, worlds
):
    world, unknown = worlds[0], replace(worlds[0].key, tenant="another")
    found = frames.from_batch(spark, stored, world.key, failures=True)

    assert rows_in(found.batches) == expected_batches(world)
    assert [row["page"] for row in rows_in(found.pages)] == [
        row["page"] for row in expected_pages(world) if row["level"] == 0
    ]
    assert_holds(frames.from_batch(spark, stored, unknown, failures=True))


def test_a_malformed_row_of_a_live_table_is_named_by_its_key(spark, stored, aws, worlds):
    (key, page), *_ = worlds[0].store.stored_pages.items()
    broken = page_row(key, page) | {"size": {"N": "-1"}}
    aws.client("dynamodb").put_item(TableName=stored.pages, Item=broken)

    (row,) = frames.from_tables(spark, stored).malformed.collect()

    assert (row.location, row.problem) == (f"{stored.pages} {key}", "size is '-1'; expected a whole number")


def test_a_rate_is_shared_by_the_segments_that_are_read_at_once(spark, monkeypatch):
    seen, tables = [], Tables("Batches", "Pages", "us-east-1")
    monkeypatch.setattr(frames, "Segment", lambda *facts: seen.append(facts))

    frames.from_tables(spark, tables, rate=500.0)

    assert {facts[-1] for facts in seen} == {250.0}
    assert [facts[1] for facts in seen] == ["Batches"] * 8 + ["Pages"] * 8


class Scripted:
    """Answers Scan with the next of *answers*."""

    def __init__(self, *answers: tuple[list, float]) -> None:
        self.answers, self.asked = list(answers), []

    def scan(self, **request) -> dict:
        self.asked.append(json.loads(json.dumps(request)))
        rows, units = self.answers.pop(0)
        more = {"LastEvaluatedKey": {"pk": {"S": str(len(self.answers))}}} if self.answers else {}
        return {"Items": rows, "ConsumedCapacity": {"CapacityUnits": units}, **more}


def scanned(client: Scripted, pauses: list[float], **facts) -> list:
    """The rows of segment 2 of 8 of *client*'s table."""
    segment = Segment(SimpleNamespace(client=client), "Pages", 2, 8, **facts)
    return list(scan(segment, None, pauses.append))


def test_a_segment_with_a_rate_rests_until_the_units_that_it_used_are_due():
    pauses: list[float] = []
    client = Scripted(([], 50.0), ([], 25.0), ([], 100.0))

    scanned(client, pauses, rate=10.0)

    assert pauses == pytest.approx([5.0, 7.5], abs=0.5)
    assert {asked["Limit"] for asked in client.asked} == {20}
