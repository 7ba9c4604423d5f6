"""Shapes of requests: alike whatever their numbers are, and different by clause."""

from __future__ import annotations

from datetime import UTC, datetime

from moto import mock_aws

from fanin.aws.settings.tracking import Tables
from fanin.tracker.dynamodb import DynamoStore, requests
from fanin.tracker.rules.model import BatchKey, PageKey
from fanin.tracker.rules.page import PageMasks
from tests.contract import moto_clients
from tests.contract.tables import TABLES, create_tables
from tests.request_rules import shapes

AT = datetime(2026, 1, 1, tzinfo=UTC)
KEY = PageKey(BatchKey("t", "b"), 0, 0)


def added(mask, failed=0):
    return shapes.shape("UpdateItem", requests.add_bits("Pages", KEY, PageMasks(mask, failed), AT))


def test_writes_of_one_digit_and_of_twenty_have_one_shape():
    assert added(0b1) == added(2**120 - 1)
    assert added(0b1) != added(0, 0b1)


def test_what_a_store_sends_is_noted_and_what_a_test_sends_is_not():
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_tables(client)
        before = dict(shapes.SEEN)
        shapes.SEEN.clear()
        client.put_item(
            TableName=TABLES[1], Item={"pk": {"S": "p"}}, ConditionExpression="attribute_not_exists(own)"
        )
        assert not shapes.SEEN

        DynamoStore(client, Tables(*TABLES)).add_bits(KEY, PageMasks(1, 0), AT)

    (test,) = shapes.SEEN[added(1)]
    assert test.endswith("test_shapes.py::test_what_a_store_sends_is_noted_and_what_a_test_sends_is_not")
    shapes.SEEN.update(before)


def test_a_request_of_no_listed_shape_is_noted(monkeypatch):
    monkeypatch.setattr(shapes, "_is_production", lambda: True)
    monkeypatch.setattr(shapes, "CHECKED", True)
    for condition in ("attribute_not_exists(pk)", "attribute_not_exists(other)"):
        shapes.note("PutItem", {"ConditionExpression": condition})
    noted, shapes.UNLISTED[:] = list(shapes.UNLISTED), []
    shapes.SEEN.pop(noted[0])

    assert noted == ["PutItem attribute_not_exists ( other )"]
