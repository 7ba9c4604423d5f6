"""A change of a row that a newer release wrote stops the job; it is not a malformed line."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from fanin.errors import NewerSchema
from fanin.tracker import BatchKey
from fanin.tracker.dynamodb.items import PUT
from fanin.tracker.dynamodb.requests import mark_put
from pipeline.history.changes.records import change_of
from pipeline.history.changes.rows import read
from tests.archive.streams import record
from tests.contract import golden

AT = datetime(2026, 3, 1, tzinfo=UTC)
ROWS = [
    ("batches", "batches", "closed: batch"),
    ("tasks", "tasks", "open"),
    ("bundles", "bundles", "fence 7"),
    ("jobs", "queue", "job ready"),
    ("jobs", "queue", "dead: dead"),
]


@pytest.mark.parametrize(("kind", "table", "name"), ROWS)
def test_a_newer_row_stops_the_job_and_the_same_row_of_version_1_does_not(kind, table, name):
    row = {key: value for key, value in golden.rows(table)[name].items() if key != "salt"}
    old, newer = (change_of(json.dumps(record(each)).encode()) for each in (row, golden.newer(row)))

    assert len(read(old, kind)) == 1
    with pytest.raises(NewerSchema, match="upgrade fanin in this process"):
        read(newer, kind)


def test_a_reason_that_was_removed_is_no_row():
    """A heal or a delete removes the item and the reason from their slot, and leaves the row."""
    (name,) = [name for name, row in golden.rows("batches").items() if "reason" in row][:1]
    row = golden.rows("batches")[name]
    removed = {key: value for key, value in row.items() if key not in ("itemId", "reason", "at")}
    kept, gone = (change_of(json.dumps(record(each)).encode()) for each in (row, removed))

    assert [each["sample"]["reason"] for each in read(kept, "batches")] == [row["reason"]["S"]]
    assert read(gone, "batches") == []


def test_an_event_that_a_process_says_it_put_is_no_confirmation_of_the_bus():
    row = mark_put("batches", BatchKey("t", "00000000-0000-4000-8000-000000000001"), AT)["Item"]
    put, confirmed = (
        change_of(json.dumps(record(each)).encode())
        for each in (row, {name: value for name, value in row.items() if name != PUT})
    )

    assert [[each["what"] for each in read(change, "batches")] for change in (put, confirmed)] == [
        [],
        ["event"],
    ]
