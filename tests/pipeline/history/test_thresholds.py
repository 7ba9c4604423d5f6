"""The notice of a threshold is neither an ending, nor an ending event that was sent again."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from fanin.tracker.dynamodb.items import batch_of
from fanin.tracker.dynamodb.watching import notice_item
from fanin.tracker.rules.model import Progress
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.thresholds import Reached
from pipeline.datasource.stream import ending
from pipeline.history.changes.records import change_of
from pipeline.history.changes.rows import read
from tests.archive.streams import record
from tests.contract import golden

AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize("threshold", Threshold)
def test_neither_the_history_nor_the_data_source_takes_a_threshold_for_an_ending(threshold):
    batch = batch_of(golden.rows("batches")["closed: batch"])
    row = notice_item(batch, Reached(threshold, AT, Progress(1, 0, 1, 1, exact=True), 2, 1))

    assert read(change_of(json.dumps(record(row)).encode()), "batches") == []
    assert ending(record(row), batch.tenant) is None
