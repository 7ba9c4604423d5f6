"""The Scan of a job over the tables, on DynamoDB: see engines.py."""

from __future__ import annotations

from types import SimpleNamespace

from fanin.settings.tracking import Tables
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.dynamodb import DynamoStore
from pipeline.table_frames.scanning import Segment, scan
from tests.contract import engines
from tests.contract.tables import TABLES, create_tables


def test_all_segments_together_have_the_rows_of_all_batches_or_of_the_one_that_is_named() -> None:
    with engines.emptied():
        client = engines.client(create_tables)
        tracker = Tracker(DynamoStore(client, Tables(*TABLES)))
        keys = [str(tracker.open("t", OpenBatch()).key) for _ in range(3)]
        segments = [Segment(SimpleNamespace(client=client), TABLES[0], number, 2) for number in range(2)]
        found = {
            about: sorted(row["pk"]["S"] for segment in segments for row in scan(segment, about))
            for about in (None, keys[0].partition("#")[2])
        }

    assert list(found.values()) == [sorted(keys), keys[:1]]
