"""What the store returns for a write that DynamoDB refuses: what is stored, read only where it must be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from fanin.aws.dynamodb.rows import text
from fanin.aws.settings.tracking import Tables
from fanin.cost import UsageMeter
from fanin.tracker import Group, Outcome, State
from fanin.tracker.dynamodb import DynamoStore, items
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.options import TaskToken
from fanin.tracker.rules.page import Page, PageMasks
from tests.contract import engines
from tests.contract.tables import TABLES, create_tables
from tests.tracker.calls import DAY, HOUR, START
from tests.tracker.stored import BATCH

NAMES = Tables(*TABLES)
TOKEN = TaskToken("token")
PAGE = PageKey(BATCH.key, 0, 2)
PAGE_ROW = {"pk": text(str(PAGE)), "n": {"N": "1"}, "d0": {"N": "4"}, "size": {"N": "3"}}


class Refusing:
    """A client that refuses writes. *shown*: the row in its refusal; *row*: the row that a read finds."""

    def __init__(self, shown=None, row=None):
        self.shown, self.row, self.written, self.read = shown, row, [], []

    def put_item(self, **request):
        self.written.append(request)
        shown = {"Item": self.shown} if self.shown else {}
        raise ClientError({"Error": {"Code": "ConditionalCheckFailedException"}, **shown}, "Put")

    update_item = put_item

    def transact_write_items(self, **request):
        self.written.append(request)
        reasons = {"CancellationReasons": [{"Code": "ConditionalCheckFailed"}]}
        raise ClientError({"Error": {"Code": "TransactionCanceledException"}, **reasons}, "Transact")

    def get_item(self, **request):
        self.read.append(request["Key"])
        return {"Item": self.row} if self.row else {}

    def batch_get_item(self, RequestItems):  # noqa: N803  # as botocore names it
        asked = RequestItems[NAMES.pages]["Keys"]
        self.read += asked
        return {"Responses": {NAMES.pages: [self.row] if self.row and asked else []}}


def refusing(shown=None, row=None):
    client = Refusing(shown, row)
    return DynamoStore(client, NAMES), client


@pytest.mark.parametrize("token", [None, TOKEN])
def test_a_batch_that_is_refused_and_not_stored_is_none(token):
    """A child whose item does not take it; the refusal does not say so."""
    store, client = refusing()

    assert store.create(BATCH, token) is None
    assert len(client.read) == 1


def reopened(store, key):
    return store.create_reopened(BATCH, Group("group", 4), None, key, None)


def test_a_batch_that_was_reopened_without_a_key_is_the_one_that_is_stored():
    """A retry after a timeout finds its own first write, as the id is of no other batch."""
    assert reopened(refusing(row=items.batch_item(BATCH))[0], None) == BATCH.batch_id
    assert reopened(refusing()[0], None) is None


def mark_tail(store):
    return store.mark_tail(PAGE, 3, True, START + DAY)


@pytest.mark.parametrize(("row", "page"), [(PAGE_ROW, Page(bits=4, n=1, size=3)), (None, Page())])
def test_a_page_that_the_refusal_does_not_show_is_read(row, page):
    store, client = refusing(row=row)

    assert mark_tail(store) == page
    assert client.read == [{"pk": text(str(PAGE))}]


def test_a_request_to_resend_an_event_is_stored_and_may_be_repeated():
    store, client = refusing()
    store.notice(BATCH, START + HOUR)
    (request,) = client.written
    row = request["Item"]

    assert (row["pk"], row["sk"]) == ({"S": str(BATCH.key)}, {"S": f"notice#{1772326800000:013d}"})
    assert row["ttl"] == {"N": str(int(BATCH.expires_at.timestamp()))}


FIRST = PageMasks.of(1, Outcome.SUCCESS)


@pytest.fixture
def store() -> Iterator[DynamoStore]:
    with engines.emptied():
        store = DynamoStore(engines.client(create_tables), NAMES, pause=lambda _: None)
        store.create(BATCH)
        store.record_ack(BATCH.key, START)
        store.add_bits(PAGE, FIRST, BATCH.expires_at)
        yield store


REFUSED = {
    "an ack at an earlier time": (lambda s: s.record_ack(BATCH.key, START - DAY).state, State.CLOSED),
    "the deletion of a live batch": (lambda s: s.delete(BATCH, START).state, State.CLOSED),
    "an earlier expiry": (lambda s: s.extend(BATCH.key, START, START).expires_at, BATCH.expires_at),
    "an ack once more": (lambda s: s.add_bits(PAGE, FIRST, BATCH.expires_at).page.bits, 1),
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_refused_write_reads_nothing(store, call):
    meter = UsageMeter().attach(store.client)
    answer, expected = REFUSED[call]

    assert answer(store) == expected
    assert meter.usage.units.keys() == {"write_unit"}
