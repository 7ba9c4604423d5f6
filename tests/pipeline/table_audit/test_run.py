"""The audit of all batches at once: over frames, from exports and live tables, with a recheck."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import pytest

from fanin.tracker import State
from fanin.tracker.rules.page import Page
from pipeline.jobs import audit
from pipeline.shared_by_jobs import schemas
from pipeline.table_audit import recheck
from pipeline.table_audit import run as auditing
from pipeline.table_audit.rules import Rule
from tests.pipeline.exporting import TAKEN_AT, put_rows, rows_of, write_tables
from tests.pipeline.table_audit.test_rules import FULL_LEAF
from tests.pipeline.worlds import World, closed, complete, partly_acked


def exported(folder: Path, worlds: Iterable[World], change=lambda row: row) -> list[str]:
    return write_tables(folder, (change(row) for world in worlds for row in rows_of(world.store)))


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
    """Each batch is held to its own pages; a row that cannot be read is named. Sound batches are
    passed, and those so old that their pages may have been deleted.
    """
    broken, sound, old = broken_worlds(), [complete(), partly_acked()], broken_worlds()[Rule.COUNT]
    old.change_batch(created_at=TAKEN_AT.replace(year=2024))
    (of_sound,) = (row for row in rows_of(sound[1].store) if row["pk"]["S"].endswith("#0#8"))

    def change(row: dict) -> dict:
        return row | {"n": {"N": "x"}} if row["pk"] == of_sound["pk"] else row

    exports = exported(tmp_path, [*broken.values(), *sound, old], change)
    options = (*named(exports), "--out", str(tmp_path / "f"))

    events, status = job(*options)

    saved = spark.read.parquet(str(tmp_path / "f"))
    found = {(row.batch_id, row.rule): row.sure for row in saved.where("batch_id IS NOT NULL").collect()}
    assert found == {(world.key.batch_id, str(rule)): rule is Rule.COUNT for rule, world in broken.items()}
    assert (saved.columns, saved.count()) == (schemas.FINDINGS.names, 5)
    (of_row,) = (event for event in events if event["event"] == "finding" and event["place"] == "row")
    assert (of_row["rule"], of_row["certainty"]) == ("malformed row", "wrong")
    assert "n is 'x'; expected a whole number" in of_row["detail"]
    assert (audited(events), status) == ({"event": "audited", "wrong": 2, "doubtful": 3, "gone": 0}, 1)
    assert (events[-1]["batches"], events[-1]["takenAt"]) == (6, TAKEN_AT.isoformat())
    _, again = job(*options)
    assert "name another --out" in again


@pytest.fixture
def live(tables):
    """Stores worlds in live tables; the options that name those."""

    def store(worlds: Iterable[World]) -> list[str]:
        put_rows(tables, (row for world in worlds for row in rows_of(world.store)))
        names = ["--batches-table", tables.batches, "--pages-table", tables.pages]
        return [*names, "--region", tables.region, "--tables-endpoint-url", tables.endpoint]

    return store


def test_what_is_still_there_in_the_live_tables_is_wrong_and_what_was_under_way_is_gone(job, live, tmp_path):
    broken, under_way = broken_worlds(), complete()
    places = live([*broken.values(), under_way])
    under_way.change_batch(state=State.CLOSED)

    events, status = job(*named(exported(tmp_path, [*broken.values(), under_way])), *places)

    assert certainties(events) == {str(rule): "wrong" for rule in broken}
    assert (audited(events), status) == ({"event": "audited", "wrong": 4, "doubtful": 0, "gone": 1}, 1)


def test_one_batch_can_be_audited_alone(job, tmp_path):
    broken = broken_worlds()
    chosen = broken[Rule.FAILED_COUNT].key.batch_id

    events, status = job(*named(exported(tmp_path, broken.values())), "--batch", chosen)

    assert [event["place"] for event in events if event["event"] == "finding"] == [f"batch {chosen}"]
    assert (audited(events), status) == ({"event": "audited", "wrong": 0, "doubtful": 1, "gone": 0}, 0)


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
