"""The positions of publications, on DynamoDB: see engines.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from fanin.errors import StaleWrite
from fanin.s3_publications.dynamodb import DynamoPositions
from fanin.s3_publications.model import Position
from fanin.settings.tracking import Tables
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.dynamodb import DynamoStore
from tests.contract import engines
from tests.contract.tables import create_tables

FIRST = Position()


NEXT = replace(FIRST, size=1_000, etag="e", read=10, rows=2, parts=1, line=3)


class Repeating:
    """Loses the first answer to each put, and sends it again, as botocore does."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def put_item(self, **request: Any) -> Any:
        self.client.put_item(**request)
        return self.client.put_item(**request)


@contextmanager
def opened() -> Iterator[tuple[Any, Any]]:
    """Yield a client and a batch."""
    with engines.emptied():
        client = engines.client(create_tables)
        yield client, Tracker(DynamoStore(client, Tables("Batches", "Pages"))).open("t", OpenBatch())


def test_a_position_is_stored_once_and_each_later_one_after_the_one_before() -> None:
    with opened() as (client, batch):
        positions = DynamoPositions(client, "Batches")

        assert positions.get(batch) is None
        positions.create(batch, FIRST)
        positions.advance(batch, FIRST, NEXT)
        positions.create(batch, FIRST)
        with pytest.raises(StaleWrite):
            positions.advance(batch, FIRST, replace(NEXT, rows=9))
        assert positions.get(batch) == NEXT


def test_a_position_whose_answer_is_lost_is_stored_and_that_of_another_process_is_not() -> None:
    with opened() as (client, batch):
        positions, repeating = (
            DynamoPositions(client, "Batches"),
            DynamoPositions(Repeating(client), "Batches"),
        )
        positions.create(batch, FIRST)
        repeating.advance(batch, FIRST, NEXT)

        assert positions.get(batch) == NEXT
        with pytest.raises(StaleWrite):
            positions.advance(batch, FIRST, NEXT)
