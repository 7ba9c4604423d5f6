"""The positions of publications, on DynamoDB: see engines.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.aws.settings.tracking import Tables
from fanin.errors import StaleWrite
from fanin.publications.dynamodb import DynamoPositions
from fanin.publications.model import Position
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.dynamodb import DynamoStore
from tests.contract import engines
from tests.contract.tables import create_tables

FIRST = Position()


def test_a_position_is_stored_once_and_each_later_one_after_the_one_before() -> None:
    with engines.emptied():
        client = engines.client(create_tables)
        tracker = Tracker(DynamoStore(client, Tables("Batches", "Pages")))
        batch, positions = tracker.open("t", OpenBatch()), DynamoPositions(client, "Batches")
        next_one = replace(FIRST, size=1_000, etag="e", read=10, rows=2, parts=1, line=3)

        assert positions.get(batch) is None
        positions.create(batch, FIRST)
        positions.advance(batch, FIRST, next_one)
        positions.create(batch, FIRST)
        with pytest.raises(StaleWrite):
            positions.advance(batch, FIRST, replace(next_one, rows=9))
        assert positions.get(batch) == next_one
