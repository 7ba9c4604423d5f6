"""What the tracker sends to DynamoDB is what its handlers are granted: the code itself is asked."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import boto3
import pytest
from moto import mock_aws

from fanin.aws.settings import Tables
from fanin.tracker import Ack, OpenBatch, Tracker
from fanin.tracker.dynamodb import DynamoStore
from infra.handlers import CONSUME_ACKS, DEMO_WORKER, ROUTES, WRITE_INDEX
from infra.paths import FUNCTIONS
from tests.contract.conftest import deep_recursion
from tests.contract.tables import TABLES, create_tables

HANDLERS = {handler.name: handler for handler in (*ROUTES, CONSUME_ACKS, DEMO_WORKER)}
# Sent too where a refused write does not bring along what stands in its way; here it always does.
FALLBACK = {("dynamodb:GetItem", "Batches"), ("dynamodb:BatchGetItem", "Pages")}
AT = datetime(2026, 1, 1, tzinfo=UTC)


class Sent:
    """The DynamoDB actions that a client sends, as (IAM action, table)."""

    def __init__(self, client):
        self.actions = set()
        client.meta.events.register("provide-client-params.dynamodb", self._note)

    def _note(self, params, model, **_):
        if model.name == "TransactWriteItems":
            # IAM looks at the parts: a Put asks for PutItem, an Update for UpdateItem.
            parts = [next(iter(item.items())) for item in params["TransactItems"]]
            self.actions |= {(f"dynamodb:{name}Item", part["TableName"]) for name, part in parts}
            return
        tables = params["RequestItems"] if "RequestItems" in params else [params["TableName"]]
        self.actions |= {(f"dynamodb:{model.name}", table) for table in tables}


def opened(tracker):
    return tracker.open("t", OpenBatch(), key="k").batch_id


def added(tracker):
    """A batch of three pages, and the ids of its items."""
    batch_id = opened(tracker)
    group = tracker.add("t", batch_id, 3000, key="k").groups[0].id
    return batch_id, [f"{batch_id}:{group}:{index}" for index in range(3000)]


def ack(tracker, ids):
    tracker.ack("t", [Ack.of(text, "c") for text in ids])


def open_twice(tracker, _):
    opened(tracker)
    opened(tracker)


def add_twice(tracker, batch_id):
    tracker.add("t", batch_id, 200, key="k")
    tracker.add("t", batch_id, 200, key="k")


def look(tracker, batch_and_items):
    tracker.progress(tracker.get("t", batch_and_items[0]))


def ack_singly_in_bulk_and_again(tracker, batch_and_items):
    _, items = batch_and_items
    for ids in (items[:1], items[:1], items[3:60], items[3:60], items, items):
        ack(tracker, ids)


def close_twice(tracker, batch_and_items):
    batch_id, _ = batch_and_items
    tracker.close("t", batch_id, "c")
    tracker.close("t", batch_id, "c")


def all_acked(tracker):
    batch_and_items = added(tracker)
    ack(tracker, batch_and_items[1])
    return batch_and_items


def closed(tracker):
    batch_and_items = added(tracker)
    tracker.close("t", batch_and_items[0], "c")
    return batch_and_items


# handler, what others did before, what it does
DEEDS = [
    ("open_batch", lambda _: None, open_twice),
    ("add_items", opened, add_twice),
    ("get_batch", added, look),
    ("get_batch", all_acked, look),
    ("close_batch", added, close_twice),
    ("close_batch", all_acked, close_twice),
    ("ack_items", added, ack_singly_in_bulk_and_again),
    ("ack_items", closed, ack_singly_in_bulk_and_again),
    ("consume_acks", closed, ack_singly_in_bulk_and_again),
    ("demo_worker", closed, ack_singly_in_bulk_and_again),
]


def actions_sent(before, deed):
    """What *deed* sends on tables that *before* has written to."""
    with mock_aws(), deep_recursion():
        client = boto3.client("dynamodb", region_name="us-east-1")
        create_tables(client)
        store = DynamoStore(client, Tables(*TABLES), pause=lambda _: None)
        prepared = before(Tracker(store, now=lambda: AT))
        sent = Sent(client)
        deed(Tracker(store, now=lambda: AT), prepared)
    return sent.actions


@pytest.mark.parametrize("handler", HANDLERS)
def test_a_handler_is_granted_what_its_use_case_sends_and_no_more(handler):
    granted = HANDLERS[handler]
    of_batches = {(action, "Batches") for action in granted.batches}
    grants = of_batches | {(action, "Pages") for action in granted.pages}

    sent = [actions_sent(before, deed) for name, before, deed in DEEDS if name == handler]

    assert set().union(*sent) <= grants
    assert grants - set().union(*sent) <= FALLBACK


def test_the_index_of_the_demo_is_granted_what_it_sends():
    source = (FUNCTIONS / "demo" / "index.py").read_text()
    called = set(re.findall(r"self\.client\.(\w+)", source))
    actions = {"dynamodb:" + "".join(word.capitalize() for word in name.split("_")) for name in called}

    assert actions == set(WRITE_INDEX)
