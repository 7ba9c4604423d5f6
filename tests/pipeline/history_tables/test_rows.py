"""What the history reads in a row: of a newer release, of a reason, of an event and of a threshold."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from fanin.errors import NewerSchema
from fanin.tracker import BatchKey
from fanin.tracker.dynamodb.items import PUT, batch_of
from fanin.tracker.dynamodb.requests import mark_put
from fanin.tracker.dynamodb.thresholds import notice_item
from fanin.tracker.rules.model import Progress
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.thresholds import Reached
from pipeline.datasource.stream import ending
from pipeline.history_tables.change_frames.rows import read
from pipeline.table_changes.records import change_of
from tests.change_archive.streams import record
from tests.contract import golden

AT = datetime(2026, 3, 1, tzinfo=UTC)
ROWS = [
    ("batches", "batches", "closed: batch"),
    ("tasks", "tasks", "open"),
    ("bundles", "bundles", "fence 7"),
    ("jobs", "queue", "job ready"),
    ("jobs", "queue", "dead: dead"),
]


def read_all(kind, *rows):
    """What is read of a change that writes each of *rows*."""
    return [read(change_of(json.dumps(record(row)).encode()), kind) for row in rows]


@pytest.mark.parametrize(("kind", "table", "name"), ROWS)
def test_a_newer_row_stops_the_job_and_the_same_row_of_version_1_does_not(kind, table, name):
    row = {key: value for key, value in golden.rows(table)[name].items() if key != "salt"}

    assert [len(rows) for rows in read_all(kind, row)] == [1]
    with pytest.raises(NewerSchema, match="upgrade fanin in this process"):
        read_all(kind, golden.newer(row))


def test_a_reason_that_was_removed_is_no_row():
    """A heal or a delete removes the item and the reason from their slot, and leaves the row."""
    (name,) = [name for name, row in golden.rows("batches").items() if "reason" in row][:1]
    row = golden.rows("batches")[name]
    removed = {key: value for key, value in row.items() if key not in ("itemId", "reason", "at")}
    (kept, gone) = read_all("batches", row, removed)

    assert [each["sample"]["reason"] for each in kept] == [row["reason"]["S"]]
    assert gone == []


def test_an_event_that_a_process_says_it_put_is_no_confirmation_of_the_bus():
    row = mark_put("batches", BatchKey("t", "00000000-0000-4000-8000-000000000001"), AT)["Item"]
    confirmed = {name: value for name, value in row.items() if name != PUT}
    found = read_all("batches", row, confirmed)

    assert [[each["what"] for each in rows] for rows in found] == [[], ["event"]]


@pytest.mark.parametrize("threshold", Threshold)
def test_neither_the_history_nor_the_data_source_takes_a_threshold_for_an_ending(threshold):
    batch = batch_of(golden.rows("batches")["closed: batch"])
    row = notice_item(batch, Reached(threshold, AT, Progress(1, 0, 1, 1, exact=True), 2, 1))

    assert read_all("batches", row) == [[]]
    assert ending(record(row), batch.tenant) is None
