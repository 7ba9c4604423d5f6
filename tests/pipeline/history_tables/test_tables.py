"""The tables of the history, and what the report makes of them, over batches of every outcome."""

from __future__ import annotations

import json
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from fanin.history_report.collecting import collect
from pipeline.fan_out import manifest
from pipeline.history_tables import Sources, build
from tests.pipeline.history_tables.histories import START, TENANT, cast

FOREIGN = ("nonsense", "a:b", "a:b:c", "0199a000-0000-7000-8000-000000000000:x:0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("built")


@pytest.fixture(scope="module")
def built(spark, folder):
    """(facts of the report, tables) over all outcomes, with the ack log and the manifest of one."""
    batch = cast()["well"]
    beyond = batch.log[0]["item_id"].rsplit(":", 1)[0] + ":50"
    rows = batch.log + [{"item_id": item, "at": 1, "sent_at": 0} for item in (*FOREIGN, beyond)]
    log = folder / "acks.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = spark.range(50).select(F.concat(F.lit("item "), "id").alias("name")).coalesce(1)
    manifest.write(source, str(folder / "manifest"), run="run", source="names")
    sources = Sources(cast().archive, ack_log=str(log), manifests={batch.batch_id: str(folder / "manifest")})
    build(spark, sources, str(folder / "out"))
    return collect(str(folder / "out")), lambda name: pq.read_table(folder / "out" / name).to_pylist()


@pytest.fixture(scope="module")
def batches(built):
    """The rows of the table of batches, by outcome."""
    rows = {row["batch_id"]: row for row in built[1]("batches")}
    return {name: rows[batch.batch_id] for name, batch in cast().batches.items()}


def test_every_batch_is_there_once_the_child_of_another_too(built, batches):
    rows = built[1]("batches")
    (child,) = (row for row in rows if row["user_key"] == "child")

    assert len(rows) == len(cast().batches) + 1
    assert built[1]("tasks") == built[1]("jobs") == []
    assert {row["tenant"] for row in rows} == {TENANT}
    assert child["parent_batch_id"] == cast()["parent"].batch_id
    assert [row["user_key"] for row in rows if row["parent_batch_id"]] == ["child"]


@pytest.mark.parametrize(
    ("name", "state", "total", "acked", "failed", "outstanding"),
    [
        ("well", "COMPLETE", 50, 50, 0, 0),
        ("with failures", "COMPLETE", 20, 20, 4, 0),
        ("ended by failures", "FAILED", 10, 2, 2, 8),
        ("timed out", "TIMED_OUT", 20, 13, 0, 7),
        ("cancelled", "CANCELLED", 5, 0, 0, 5),
        ("estimated", "COMPLETE", 10, 12, 0, 0),
        ("parent", "COMPLETE", 2, 2, 0, 0),
        ("folded", "COMPLETE", 200, 200, 0, 0),
        ("open", "OPEN", 17, 8, 0, 9),
    ],
)
def test_a_batch_is_reported_as_it_was_last(batches, name, state, total, acked, failed, outstanding):
    row = batches[name]

    assert (row["state"], row["total"], row["acked"]) == (state, total, acked)
    assert (row["failed"], row["outstanding"]) == (failed, outstanding)


def test_orphans_ended_with_items_left_behind_and_an_open_batch_has_been_idle(batches):
    assert {name for name, row in batches.items() if row["is_orphan"]} == {"timed out", "cancelled"}
    assert batches["cancelled"]["end_reason"] == "changed my mind"
    idle = {name: row["idle"] for name, row in batches.items() if row["idle"] is not None}
    assert idle == {"open": 7200}


def test_the_moments_of_a_batch_are_those_at_which_they_were(batches):
    row = batches["well"]

    assert row["opened_at"] == START
    assert row["closed_at"] == START + timedelta(seconds=1)
    assert row["first_ack_at"] == START + timedelta(seconds=1)
    assert row["last_ack_at"] == row["ended_at"] == START + timedelta(seconds=47)
    assert row["event_at"] == START + timedelta(seconds=49)
    assert (row["lasted"], row["acking"], row["decided_after"]) == (47, 46, 0)
    assert (row["reported_after"], row["reported_after_last_ack"], row["notices"]) == (2, 2, 0)


def test_an_event_that_had_to_be_sent_again_says_so(batches):
    assert batches["timed out"]["notices"] == 1
    assert batches["timed out"]["reported_after"] > 1800


def latencies(built, batch):
    return {row["basis"]: row for row in built[1]("latencies") if row["batch_id"] == batch.batch_id}


def test_latency_counts_from_the_sending_if_a_log_has_it_and_from_the_close_or_the_opening(built):
    well = latencies(built, cast()["well"])

    assert well["sent"]["items"] == well["closed"]["items"] == 50
    assert (well["sent"]["p50"], well["sent"]["most"]) == (1.74, 1.99)
    assert well["sent"]["mean"] == pytest.approx(1.5 + 0.01 * 24.5)
    assert (well["closed"]["p50"], well["closed"]["most"]) == (8, 46)
    assert list(latencies(built, cast()["with failures"])) == ["opened"]


def test_the_straggler_is_named_with_its_id_and_its_row(built):
    batch = cast()["well"]
    last = int(batch.log[-1]["item_id"].split(":")[2])
    (row,) = (row for row in built[1]("stragglers") if row["batch_id"] == batch.batch_id)

    assert (row["position"], row["item_id"]) == (last, batch.log[-1]["item_id"])
    assert json.loads(row["record"]) == {"name": f"item {last}"}
    assert row["after"] == 30


def test_the_log_says_how_many_acks_came_again_and_foreign_ids_count_for_nothing(built):
    history, table = built
    (row,) = table("deliveries")

    assert (row["acks"], row["items"], row["duplicates"]) == (66, 50, 16)
    assert history.repeats.rate == pytest.approx(16 / 66)


def test_reasons_are_counted(built):
    rows = {(row["reason"], row["items"], row["source"]) for row in built[1]("reasons")}

    assert rows == {("no such thing", 3, "sample"), ("too late", 2, "sample")}


def test_tables_in_a_bucket_are_reported_as_those_in_a_folder(built, folder, aws, monkeypatch):
    client = aws.client("s3")
    client.create_bucket(Bucket="histories")
    for path in (folder / "out").rglob("*.parquet"):
        client.upload_file(str(path), "histories", f"of-march/{path.relative_to(folder / 'out')}")
    for name, value in aws.environment.items():
        monkeypatch.setenv(name, value)

    assert collect("s3://histories/of-march/") == built[0]


def test_the_report_counts_batches_items_and_failures(built):
    history, _ = built

    assert (history.known, history.ended, history.completed, history.orphans) == (10, 9, 6, 2)
    assert (history.items, history.failed) == (50 + 20 + 2 + 13 + 12 + 2 + 9 + 200 + 8, 6)
    assert history.healed == 1 + 7
    assert (history.since, history.until.microsecond) == (START, 0)


def test_what_needs_a_look_comes_first(built):
    names = [batch.state for batch in built[0].batches]

    assert set(names[:2]) == {"TIMED_OUT", "CANCELLED"}
    assert names[2] == "OPEN"
    assert [bool(batch.failed) for batch in built[0].batches[3:5]] == [True, True]


def test_a_curve_adds_up_to_the_items_that_were_acked(built):
    for batch in built[0].batches:
        assert sum(point.acked for point in batch.curve) == batch.seen
        assert [point.at for point in batch.curve] == sorted({point.at for point in batch.curve})
