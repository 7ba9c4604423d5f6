"""The audit of all batches at once: over frames, from exports and live tables, with a second look."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import pytest

from fanin.tracker import State
from fanin.tracker.rules.page import Page
from pipeline.audit import recheck
from pipeline.audit import run as auditing
from pipeline.audit.rules import Rule
from pipeline.jobs import audit
from pipeline.snapshot import frames
from pipeline.spark import schemas
from tests.pipeline.audit.test_rules import FULL_LEAF
from tests.pipeline.exporting import TAKEN_AT, rows_of, write_export
from tests.pipeline.worlds import SOUND, World, closed, complete, partly_acked

LATE = TAKEN_AT.replace(year=2030)


def exported(folder: Path, worlds: Iterable[World], change=lambda row: row, **more) -> list[str]:
    rows = [change(row) for world in worlds for row in rows_of(world.store)]
    return [
        write_export(folder, [row for row in rows if "sk" in row], table="Batches", files=1, **more),
        write_export(folder, [row for row in rows if "sk" not in row], table="Pages", files=3, **more),
    ]


def named(exports: list[str]) -> list[str]:
    """The options that name *exports*."""
    batches, pages = exports
    return ["--batches-export", batches, "--pages-export", pages]


def broken_worlds() -> dict[Rule, World]:
    """A world for some of the rules, in which just that rule is broken."""
    worlds = {rule: closed() for rule in (Rule.COUNT, Rule.CLIMB_MISSING, Rule.FAILED_COUNT, Rule.ORPHAN)}
    worlds[Rule.COUNT].change_page(0, 8, n=6)
    worlds[Rule.CLIMB_MISSING].put(0, 9, FULL_LEAF)
    worlds[Rule.FAILED_COUNT].change_batch(failed=9)
    orphaned = worlds[Rule.ORPHAN]
    orphaned.store.stored_pages = {orphaned.place(0, 8): Page(1, 1)}
    del orphaned.store.batches[orphaned.key]
    return worlds


def found_in(snapshot: frames.TableSnapshot) -> dict[tuple[str, str], bool]:
    """(batch, rule): whether it is sure; of all findings."""
    rows = auditing.findings(snapshot.pages, snapshot.batches, snapshot.taken_at)
    assert rows.schema == schemas.FINDINGS
    return {(row.batch_id, row.rule): row.sure for row in rows.collect()}


def test_each_batch_is_held_to_its_own_pages_and_sound_ones_are_passed(spark, tmp_path):
    broken = broken_worlds()
    worlds = [*(world() for world in SOUND), *broken.values()]
    snapshot = frames.from_exports(spark, exported(tmp_path, worlds))

    expected = {(world.key.batch_id, str(rule)): rule is Rule.COUNT for rule, world in broken.items()}
    assert found_in(snapshot) == expected


def test_batches_whose_pages_may_be_gone_are_skipped(spark, tmp_path):
    snapshot = frames.from_exports(spark, exported(tmp_path, broken_worlds().values(), taken_at=LATE))

    assert {rule for _, rule in found_in(snapshot)} == {str(Rule.ORPHAN)}


@pytest.fixture
def job(spark, monkeypatch, capsys):
    """Run the job; return its events without progress, and its exit status."""
    monkeypatch.setattr(audit, "spark_session", lambda name, cores: nullcontext(spark))
    monkeypatch.setattr(recheck, "SECONDS_BETWEEN", 0)

    def run(*options: str) -> tuple[list[dict], int]:
        status = 0
        try:
            audit.main([*options, "--json"])
        except SystemExit as error:
            status = error.code
        events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return [event for event in events if event["event"] != "working"], status

    return run


def audited(events: list[dict]) -> dict:
    return {name: events[-1][name] for name in ("event", "wrong", "doubtful", "gone")}


def certainties(events: list[dict]) -> dict[str, str]:
    return {event["rule"]: event["certainty"] for event in events if event["event"] == "finding"}


def test_what_is_wrong_is_reported_saved_and_ends_badly(spark, job, tmp_path):
    broken = broken_worlds()
    options = (*named(exported(tmp_path, broken.values())), "--out", str(tmp_path / "f"))

    events, status = job(*options)

    assert certainties(events) == {
        str(rule): "wrong" if rule is Rule.COUNT else "in doubt" for rule in broken
    }
    assert (audited(events), status) == ({"event": "audited", "wrong": 1, "doubtful": 3, "gone": 0}, 1)
    assert spark.read.parquet(str(tmp_path / "f")).count() == 4
    _, again = job(*options)
    assert "name another --out" in again


def test_what_a_write_may_explain_is_no_bad_end_by_itself(job, tmp_path):
    world, sound = closed(), complete()
    world.put(0, 9, FULL_LEAF)

    events, status = job(*named(exported(tmp_path, [world, sound])))

    stored = sum(len(each.store.stored_pages) for each in (world, sound))
    assert (audited(events), status) == ({"event": "audited", "wrong": 0, "doubtful": 1, "gone": 0}, 0)
    assert {name: events[-1][name] for name in ("batches", "pages", "takenAt")} == {
        "batches": 2,
        "pages": stored,
        "takenAt": TAKEN_AT.isoformat(),
    }


def test_a_row_that_cannot_be_read_is_a_finding(job, tmp_path):
    def change(row: dict) -> dict:
        return row | {"n": {"N": "x"}} if row["pk"]["S"].endswith("#0#8") else row

    events, status = job(*named(exported(tmp_path, [partly_acked()], change)))

    (finding,) = (event for event in events if event["event"] == "finding" and event["place"] == "row")
    assert (finding["rule"], finding["certainty"], status) == ("malformed row", "wrong", 1)
    assert "n is 'x'; expected a whole number" in finding["detail"]


@pytest.fixture
def live(tables, aws):
    """Stores worlds in live tables; the options that name those."""
    client = aws.client("dynamodb")

    def store(worlds: Iterable[World]) -> list[str]:
        for row in (row for world in worlds for row in rows_of(world.store)):
            client.put_item(TableName=tables.batches if "sk" in row else tables.pages, Item=row)
        names = ["--batches-table", tables.batches, "--pages-table", tables.pages]
        return [*names, "--region", tables.region, "--tables-endpoint-url", tables.endpoint]

    return store


def test_live_tables_are_rechecked_and_what_is_still_there_is_wrong(job, live):
    broken = broken_worlds()

    events, status = job(*live(broken.values()))

    assert certainties(events) == {str(rule): "wrong" for rule in broken}
    assert (audited(events), status) == ({"event": "audited", "wrong": 4, "doubtful": 0, "gone": 0}, 1)


def test_what_an_export_caught_under_way_is_gone_in_the_live_tables(job, live, tmp_path):
    world = complete()
    at_the_end = live([world])
    world.change_batch(state=State.CLOSED)

    events, status = job(*named(exported(tmp_path, [world])), *at_the_end)

    assert (audited(events), status) == ({"event": "audited", "wrong": 0, "doubtful": 0, "gone": 1}, 0)


def test_one_batch_can_be_audited_alone(job, live):
    broken = broken_worlds()
    chosen = broken[Rule.FAILED_COUNT].key.batch_id

    events, _ = job(*live(broken.values()), "--batch", chosen)

    assert [event["place"] for event in events if event["event"] == "finding"] == [f"batch {chosen}"]


def test_a_batch_of_a_newer_release_stops_the_job_with_a_sentence(job, tmp_path):
    exports = exported(tmp_path, [closed()], lambda row: row | {"schemaVersion": {"N": "99"}})

    _, status = job(*named(exports))

    assert re.fullmatch("audit: the batch .*upgrade fanin in this process", status)


def test_findings_that_are_gone_fall_out_and_those_still_there_are_sure(spark):
    names = ("there", "gone", "unknown", "sure")
    rows = [("t", name, 0, 1, "rule", name, name == "sure") for name in names]
    rows += [("t", "there", None, None, "rule", "another place", False)]
    verdicts = [
        ("t", name, 0, 1, "rule", there) for name, there in zip(names, (True, False, None), strict=False)
    ]

    after = auditing.after_recheck(
        spark.createDataFrame(rows, schemas.FINDINGS), spark.createDataFrame(verdicts, schemas.RECHECKED)
    )

    assert {row.detail: row.sure for row in after.collect()} == {
        "there": True,
        "unknown": False,
        "sure": True,
        "another place": False,
    }
