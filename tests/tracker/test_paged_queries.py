"""How many rows the store's queries read, and where they continue and end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from botocore.exceptions import ClientError

from fanin.aws.settings.tracking import Tables
from fanin.tracker import Group, State
from fanin.tracker.dynamodb import DynamoStore, items
from fanin.tracker.rules.filters import Query
from tests.tracker.calls import HOUR, START
from tests.tracker.stored import BATCH


class Table:
    """A client of one table. *at_most*: the rows of a page; *pages*: the rows that each query returned."""

    def __init__(self, rows, at_most=1000):
        self.rows, self.at_most, self.pages = rows, at_most, []

    def query(self, **request):
        assert len(self.pages) < 100, "the queries do not end"
        found = self._between(request["ExpressionAttributeValues"])
        found = found if request.get("ScanIndexForward", True) else found[::-1]
        if "ExclusiveStartKey" in request:
            found = found[found.index(request["ExclusiveStartKey"]) + 1 :]
        page = found[: min(request.get("Limit", self.at_most), self.at_most)]
        self.pages.append(len(page))
        rest = {"LastEvaluatedKey": page[-1]} if len(page) < len(found) else {}
        return {"Items": page, **rest}

    def _between(self, values):
        if ":low" not in values:
            return self.rows
        low, high = values[":low"]["S"], values[":high"]["S"]
        if low > high:  # DynamoDB refuses it
            raise ClientError({"Error": {"Code": "ValidationException"}}, "Query")
        return [row for row in self.rows if low <= row["sk"]["S"] <= high]


def store_of(rows, at_most=1000):
    table = Table(rows, at_most)
    return DynamoStore(table, Tables("batches", "pages")), table


GROUPS = [(4 * number, Group(f"group-{number}", 4)) for number in range(6)]
"""Groups of four items."""


def groups_of(start, last, limit, at_most=1000):
    """The groups that are found, and the rows of each query."""
    store, table = store_of([items.group_item(BATCH, *each) for each in GROUPS], at_most)
    return store.groups(BATCH.key, start, last, limit), table.pages


@pytest.mark.parametrize(("limit", "read"), [(1, [1]), (2, [1, 1]), (5, [1, 4]), (6, [1, 5]), (7, [1, 5])])
def test_no_more_groups_are_read_than_asked_for(limit, read):
    assert groups_of(0, 23, limit) == (GROUPS[:limit], read)


BATCHES = [replace(BATCH, created_at=START + number * HOUR) for number in range(4)]
NEWEST = BATCHES[::-1]


def listed(count, at_most, limit=2):
    """A list of closed batches, of which *count* are stored: its part, and the rows of each query."""
    store, table = store_of([items.batch_item(each) for each in BATCHES[4 - count :]], at_most)
    query = Query(tenant="t", shard=7, limit=limit, state=State.CLOSED)
    return store.listing(query), table.pages


@pytest.mark.parametrize("at_most", [1, 2])
def test_a_list_reads_no_page_after_enough_batches(at_most):
    part, pages = listed(4, at_most)

    assert (part.batches, part.resume) == (tuple(NEWEST[:2]), NEWEST[1].position)
    assert sum(pages) == 2


@pytest.mark.parametrize("at_most", [1, 2, 3])
def test_a_list_that_ends_with_its_last_batch_has_no_next_page(at_most):
    part, _ = listed(2, at_most)

    assert (part.batches, part.resume) == (tuple(NEWEST[:2]), None)
