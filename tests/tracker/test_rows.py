"""The rows of a batch: what is read from them, their lists, their expiry, and refused writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ClientError

from fanin.aws.dynamodb.rows import number, text
from fanin.settings.tracking import Tables
from fanin.tracker import BatchKey, Group, Outcome, Retention, State
from fanin.tracker.dynamodb import DynamoStore, items, requests
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import ALIVE, PageKey, Receipt, Sample
from fanin.tracker.rules.options import Mode, TaskToken, Threshold
from fanin.tracker.rules.page import Page, PageMasks
from tests.contract import engines
from tests.contract.tables import TABLES, create_tables
from tests.tracker.calls import DAY, HOUR, START
from tests.tracker.stored import BATCH, MINUTE, SECOND, TICK

FULL = replace(
    BATCH,
    mode=Mode.ESTIMATED,
    retention=Retention(DAY, 2 * DAY, 3 * DAY),
    user_key="weekly",
    expected_items=12,
    max_failures=3,
    max_failure_percent=5,
    parent_item_id="parent:group:7",
    labels={"team": "mail"},
    callback="mailing",
    notify_at=(Threshold.FIRST_FAILURE, Threshold.MOST),
    stuck_after=8 * MINUTE,
    deadline_at=START + DAY,
    next_check_at=START + HOUR,
    origin_batch_id="00000000-0000-4000-8000-00000000002f",
    resumes=True,
)
LATER = number(items.milliseconds(START + HOUR))
WRITTEN_LATER = [
    ("reported", {"SS": ["50", "first_failure"]}, "reported", frozenset({"50", "first_failure"})),
    ("stalls", {"N": "2"}, "stalls", 2),
    ("stalledAt", LATER, "stalled_at", START + HOUR),
    ("ackedAt", LATER, "acked_at", START + HOUR),
]


def test_a_batch_is_read_with_every_option_it_was_stored_with():
    assert items.batch_of(items.batch_item(FULL)) == FULL


@pytest.mark.parametrize(("attribute", "stored", "field", "value"), WRITTEN_LATER)
def test_the_thresholds_that_were_reported_are_read_from_the_row(attribute, stored, field, value):
    row = items.batch_item(BATCH)

    assert items.batch_of(row | {attribute: stored}) == replace(BATCH, **{field: value})


LISTED = [
    ({"user_key": None}, "tenantUser", None),
    ({"user_key": "weekly"}, "tenantUser", {"S": "1#t#weekly"}),
    ({"next_check_at": None}, "dueShard", None),
    ({"next_check_at": START}, "dueShard", {"S": "7"}),
    ({"next_check_at": START, "state": State.COMPLETE}, "dueShard", {"S": "7#ended"}),
    ({"state": State.OPEN}, "liveShard", {"S": "7"}),
    ({"state": State.COMPLETE}, "liveShard", None),
    ({"resumes": True}, "resumes", {"BOOL": True}),
    ({"resumes": False}, "resumes", None),
]


@pytest.mark.parametrize(("facts", "attribute", "value"), LISTED)
def test_a_row_has_the_key_of_an_index_only_where_its_batch_is_listed(facts, attribute, value):
    assert items.batch_item(replace(BATCH, **facts)).get(attribute) == value


EXPIRES = START + 9 * DAY
PAGES_EXPIRE, ROW_EXPIRES = START + 400 * DAY, START + 430 * DAY
EXPIRING = {
    "batch": (lambda: items.batch_item(BATCH), ROW_EXPIRES),
    "task token": (lambda: items.token_item(BATCH, TaskToken("token")), ROW_EXPIRES),
    "key of an open": (lambda: items.open_key_item(BATCH, "key"), ROW_EXPIRES),
    "receipt": (lambda: items.receipt_item(BATCH, Receipt("key", 0, 4)), PAGES_EXPIRE),
    "group": (lambda: items.group_item(BATCH, 0, Group("group", 4)), PAGES_EXPIRE),
    "origin": (lambda: items.origin_item(BATCH, [(0, 3)]), PAGES_EXPIRE),
    "sample": (lambda: items.sample_item(BATCH.key, 0, Sample("item", "boom", START), EXPIRES), EXPIRES),
    "idempotency key": (lambda: items.key_item("t", "add", "key", "f", EXPIRES), EXPIRES),
}


@pytest.mark.parametrize("name", EXPIRING)
def test_each_row_expires_at_a_second_of_unix_time_as_ttl_requires(name):
    row, expires_at = EXPIRING[name]

    assert row()["ttl"] == {"N": str(int(expires_at.timestamp()))}


@pytest.mark.parametrize(("late", "seconds"), [(TICK, 1), (SECOND, 1), (SECOND + TICK, 2)])
def test_no_row_is_deleted_before_its_time(late, seconds):
    row = items.key_item("t", "add", "key", "f", START + late)

    assert row["ttl"] == {"N": str(int(START.timestamp()) + seconds)}


def test_attributes_of_a_page_that_this_release_does_not_know_are_left_out():
    row = {"pk": {"S": "page"}, "n": {"N": "2"}, "d1": {"N": "3"}, "x1": {"N": "1"}}

    assert items.page_of(row | {"day": {"N": "9"}, "xray": {"N": "9"}}) == Page(bits=192, n=2, failed=64)


NIL, ONE, TWO, THREE = (f"00000000-0000-0000-0000-00000000000{number}" for number in range(4))
AT = datetime(2026, 3, 1, tzinfo=UTC)
KEY = BatchKey("tenant", "00000000-0000-4000-8000-000000000001")


@pytest.mark.parametrize("state", [state for state in State if state is not State.OPEN])
def test_the_end_of_a_batch_has_an_event_id_and_leaves_the_list_of_live_batches(state):
    request = requests.transition("Batches", KEY, Transition(state, AT, AT, AT + timedelta(hours=1)))
    written, ended = request["ExpressionAttributeValues"], state not in ALIVE

    assert written.get(":eventId") == ({"S": f"{KEY.batch_id}:{state}"} if ended else None)
    assert ("REMOVE liveShard" in request["UpdateExpression"]) is ended


@pytest.mark.parametrize("digit", range(1, 64))
def test_a_digit_is_added_where_its_bits_are_clear_and_no_value_is_listed_that_it_cannot_have(digit):
    request = requests.add_bits("Pages", PageKey(KEY, 0, 0), PageMasks(digit << 6), AT)
    (listed,) = re.findall(r"d1 IN \(([^)]*)\)", request["ConditionExpression"])
    values = [int(request["ExpressionAttributeValues"][name]["N"]) for name in listed.split(",")]

    assert values == [value for value in range(64) if not value & digit]


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


FIRST = PageMasks.of(1, Outcome.SUCCESS)


@pytest.fixture
def store() -> Iterator[DynamoStore]:
    with engines.emptied():
        store = DynamoStore(engines.client(create_tables), NAMES, pause=lambda _: None)
        store.create(BATCH)
        store.record_ack_time(BATCH.key, START)
        store.add_bits(PAGE, FIRST, BATCH.expires_at)
        yield store
