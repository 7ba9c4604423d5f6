"""How many rows one listing reads at most, however few of them match its filter."""

from __future__ import annotations

from dataclasses import replace

from fanin.aws.dynamodb.rows import text
from fanin.aws.settings.tracking import Tables
from fanin.tracker import State
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.dynamodb.items import created_key
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.filters import Query
from fanin.tracker.store import Listing
from tests.tracker.calls import START
from tests.tracker.stored import BATCH, ID, SECOND

ROWS = 2_000
RARE = Query(tenant="t", shard=0, state=State.OPEN, limit=10)


def filled(rows):
    """A store of *rows* batches of one shard, the oldest of which alone is open."""
    store = MemoryStore()
    for number in range(rows):
        batch_id = f"{number:08x}-0000-4000-8000-000000000000"
        state = State.CLOSED if number else State.OPEN
        store.create(replace(BATCH, batch_id=batch_id, state=state, created_at=START + number * SECOND))
    return store


def test_a_batch_in_the_last_of_2000_rows_is_found():
    found = filled(ROWS).listing(RARE)

    assert ([batch.created_at for batch in found.batches], found.resume) == ([START], None)


def test_a_batch_behind_2000_rows_is_found_by_the_next_request():
    store = filled(ROWS + 1)
    first = store.listing(RARE)
    second = store.listing(replace(RARE, before=first.resume))

    assert (first.batches, first.resume[0]) == ((), START + SECOND)
    assert [batch.created_at for batch in second.batches] == [START]


class Endless:
    """A client whose queries read as many rows as they may, find nothing, and are never at the end."""

    def __init__(self):
        self.limits = []

    def query(self, **request):
        self.limits.append(request["Limit"])
        return {"Items": [], "LastEvaluatedKey": {"createdKey": text(created_key(START, ID))}}


def test_a_listing_reads_2000_rows_of_the_index_in_four_queries():
    client = Endless()

    assert DynamoStore(client, Tables("batches", "pages")).listing(RARE) == Listing((), (START, ID))
    assert client.limits == [500] * 4
