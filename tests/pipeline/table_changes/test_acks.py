"""Acks that tables lost, as after a restore, come back from the archive by bulk_ack."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fanin.tracker import Ack, Mode, OpenBatch, Outcome, State
from pipeline.bulk_ack.local import LocalEngine
from pipeline.bulk_ack.run import BulkAckRequest, bulk_ack
from pipeline.table_frames import tables
from tests.pipeline.history_tables.histories import TENANT, RecordedBatch, recorded

TABLES = ("Batches", "Pages")


@pytest.fixture
def recorder(tmp_path, monkeypatch):
    with recorded(tmp_path, *TABLES) as recorder:
        monkeypatch.setattr(tables, "_client", lambda *_: recorder.client)
        recorder.at = datetime.now(UTC)  # bulk_ack has no other clock
        yield recorder


@pytest.fixture
def folded(recorder, tmp_path):
    """Acks what is below a folder of the archive; what bulk_ack reports, with the rejected rows."""

    def fold(*logs: str, tenant: str = TENANT):
        # Trackers are kept by their tables: those of another test have another region.
        named = tables.Tables(*TABLES, region=str(tmp_path))
        request = BulkAckRequest(named, tenant, str(tmp_path / "rejects"), "run")
        engine, found = LocalEngine(cores=1), {}
        paths = [str(tmp_path / "changes" / log) for log in logs or ("",)]
        bulk_ack(engine, engine.list_logs(paths), request, found.setdefault)
        rejects = pq.read_table(found["rejected"]["path"]).to_pylist() if "rejected" in found else []
        return found["acked"], rejects

    return fold


def rows_of(client) -> dict[str, list]:
    return {table: client.scan(TableName=table)["Items"] for table in TABLES}


def restored(client, copy) -> None:
    """The tables as they were when the copy was taken, with nothing of what came later."""
    for table, rows in rows_of(client).items():
        for row in rows:
            client.delete_item(TableName=table, Key={key: row[key] for key in ("pk", "sk") if key in row})
        for row in copy[table]:
            client.put_item(TableName=table, Item=row)


def delivered_again(folder: Path) -> None:
    """Each delivery again, in other parts and in reverse."""
    for file in folder.rglob("*.jsonl.gz"):
        lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
        body = gzip.compress(b"".join(reversed(lines[len(lines) // 2 :])))
        file.with_name(f"0{file.name}").write_bytes(body)


def seen(batch: RecordedBatch) -> tuple:
    """What is stored of the batch: its end, and its items by outcome."""
    tracker, stored = batch.tracker, batch.tracker.get(TENANT, batch.batch_id)
    failed = [(each.group_id, each.first, each.last) for each in tracker.failures(stored).ranges]
    outstanding = [(each.group_id, each.first, each.last) for each in tracker.outstanding(stored).ranges]
    reasons = sorted((each.item_id, each.reason) for each in tracker.samples(stored))
    return stored.state, stored.failed, failed, outstanding, reasons


def changed(recorder) -> tuple[dict[str, RecordedBatch], dict[str, tuple]]:
    """Batches that go on after a copy of their tables, which is put back; what was stored before."""
    batches = {name: RecordedBatch(recorder) for name in ("complete", "open", "full before")}
    for batch in batches.values():
        batch.add(150)
    batches["full before"].ack(range(150))
    batches["complete"].ack(range(3))
    batches["complete"].ack([5, 6], Outcome.FAILURE, "early")
    for name in ("complete", "full before"):
        batches[name].close()
    recorder.wait(1)
    copy = rows_of(recorder.client)
    batches["complete"].ack([5])
    batches["complete"].ack(range(10, 31), Outcome.FAILURE, "no picture")
    batches["complete"].ack([30])
    batches["complete"].ack(range(150))
    batches["complete"].ack([12])
    batches["open"].ack([*range(7, 140, 3)])
    batches["open"].ack([8], Outcome.FAILURE, "late")
    recorder.keep()
    before = {name: seen(batch) for name, batch in batches.items()}
    restored(recorder.client, copy)
    return batches, before


def test_acks_after_the_time_of_a_restore_come_back_with_their_outcomes_and_end_each_batch_once(
    recorder, folded, tmp_path
):
    batches, before = changed(recorder)
    delivered_again(tmp_path / "changes")
    assert {name for name, batch in batches.items() if seen(batch) != before[name]} == {"complete", "open"}

    first, rejects = folded()
    after = {name: seen(batch) for name, batch in batches.items()}
    again, _ = folded()

    assert (after, rejects) == (before, [])
    assert before["complete"][0] is State.COMPLETE
    assert first["complete"] == 2, "with the batch that had ended before"
    assert (again["fresh"], again["written"], again["healed"]) == (0, 0, 0)


def test_tenants_are_apart_counters_are_refused_and_items_that_the_tables_lost_too(recorder, folded):
    counting = RecordedBatch(recorder, OpenBatch(mode=Mode.ESTIMATED))
    other, mine = RecordedBatch(recorder), RecordedBatch(recorder)
    for batch in (counting, other, mine):
        batch.add(20)
    foreign = other.tracker.open("a", OpenBatch()).batch_id
    group = other.tracker.add("a", foreign, 9).groups[0].id
    recorder.keep()
    copy = rows_of(recorder.client)
    counting.ack(range(9))
    mine.ack(range(18))
    mine.add(30)
    mine.tracker.ack(TENANT, [Ack(mine.batch_id, mine.groups[1].id, 0, 9, "c")])
    other.tracker.ack("a", [Ack(foreign, group, 0, 8, "c")])
    lost = RecordedBatch(recorder)
    lost.add(4)
    lost.ack([2])
    recorder.keep()
    restored(recorder.client, copy)

    acked, rejects = folded("table=pages")

    assert (acked["fresh"], acked["batches"]) == (18, 1)
    refused = sorted({(row["item_id"][:36], row["refusal"]) for row in rejects})
    assert refused == sorted(
        [(counting.batch_id, "estimated"), (mine.batch_id, "out_of_range"), (lost.batch_id, "no_batch")]
    )
    assert other.tracker.get("a", foreign).state is State.OPEN
    assert folded("table=pages", tenant="a")[0]["fresh"] == 9


def test_lines_that_are_no_changes_are_rejected_and_other_tables_have_no_acks(recorder, folded, tmp_path):
    batch = RecordedBatch(recorder)
    batch.add(8)
    batch.ack(range(8))
    recorder.keep()
    for kind, text in (("pages", "{}\nnot JSON\n"), ("batches", '{"eventID": 1}\n'), ("jobs", "{}\n")):
        folder = tmp_path / "changes" / f"table={kind}" / "date=2026-03-01"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "a.jsonl").write_text(text)

    acked, rejects = folded()

    assert (acked["duplicate"], acked["rejected"]) == (8, 3)
    assert {(row["item_id"], row["refusal"]) for row in rejects} == {
        (line, "unreadable") for line in ("{}", "not JSON", '{"eventID": 1}')
    }
