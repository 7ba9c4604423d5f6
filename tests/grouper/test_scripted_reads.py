"""The reads of the DynamoDB store, by the answers of a client: after a refused write, and page by page."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from botocore.exceptions import ClientError

from fanin.errors import StoreUnavailable
from fanin.grouper import BundleState, Lease
from fanin.grouper.dynamodb import DynamoStore, items
from tests.contract.grouper.calls import LANE, LATER, NOW, empty, rows, task
from tests.contract.grouper_tables import TABLES

LEASE = {"lane": {"S": str(LANE)}, "fence": {"N": "7"}, "holder": {"S": "me"}, "until": items.instant(NOW)}
BUNDLE = {
    "tenant": {"S": "tenant"},
    "target": {"S": "search"},
    "shard": {"S": "0"},
    "fence": {"N": "7"},
    "state": {"S": "READY"},
    "version": {"N": "2"},
    "attempt": {"N": "0"},
    "createdAt": items.instant(NOW),
    "expiresAt": items.instant(LATER),
}
SEEN, WANTED = Lease(LANE, 6, "me", NOW), Lease(LANE, 7, "you", LATER)
CALLING = empty().transition(BundleState.READY).transition(BundleState.CALLING)
WRITES = {
    "put_lease": (lambda store: store.put_lease(SEEN, WANTED), LEASE),
    "seal": (lambda store: store.seal(empty()), BUNDLE),
    "replace_bundle": (lambda store: store.replace_bundle(CALLING), BUNDLE),
    "create": (lambda store: store.create(task()), items.task_item(task(payload="2"))),
}
"""A write of each kind, and the row that makes its condition fail."""
FIXED = {"put_lease": Lease(LANE, 7, "me", NOW), "create": task(payload="2")}
VOID = replace(empty(), state=BundleState.READY, version=2)


class AnsweringClient:
    """A client that gives its answers in their order, and records the requests."""

    def __init__(self, *answers):
        self.answers, self.sent = list(answers), []

    def __getattr__(self, name):
        def request(**parameters):
            self.sent.append((name, parameters))
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return request

    @property
    def names(self):
        return [name for name, _ in self.sent]


def store_of(*answers):
    client = AnsweringClient(*answers)
    return DynamoStore(client, TABLES, pause=lambda _: None), client


def refused(**facts):
    return ClientError({"Error": {"Code": "ConditionalCheckFailedException"}} | facts, "UpdateItem")


@pytest.mark.parametrize("name", WRITES)
def test_a_refused_write_returns_the_row_of_its_error_without_a_read(name):
    write, row = WRITES[name]
    store, client = store_of(refused(Item=row))

    assert write(store) == FIXED.get(name, VOID)
    assert len(client.sent) == 1


@pytest.mark.parametrize("name", WRITES)
def test_a_refused_write_whose_error_has_no_row_reads_it_consistently(name):
    write, row = WRITES[name]
    store, client = store_of(refused(), {"Item": row})

    assert write(store) == FIXED.get(name, VOID)
    assert client.names[1:] == ["get_item"]
    assert client.sent[1][1]["ConsistentRead"] is True


@pytest.mark.parametrize("name", WRITES)
def test_a_refused_write_whose_row_is_gone_is_unknown(name):
    store, _ = store_of(refused(), {})
    with pytest.raises(StoreUnavailable, match="deleted during the write; retry"):
        WRITES[name][0](store)


@pytest.mark.parametrize("seen", [None, NOW])
def test_a_refused_write_of_a_bucket_whose_error_has_no_row_is_refused(seen):
    store, client = store_of(refused())

    assert store.put_full_at(LANE, seen, LATER) is False
    assert len(client.sent) == 1


@pytest.mark.parametrize("begin", [0, 5, 15])
def test_the_pages_of_many_open_tasks_are_those_of_each_segment_from_any_one_on(begin):
    last = {"pk": {"S": "tenant#a"}, "lane": {"S": str(LANE)}, "order": {"S": "1"}}
    first, second = items.task_item(task("a")), items.task_item(task("b"))
    broken_off = {"Items": [first], "LastEvaluatedKey": last}
    store, client = store_of(broken_off, broken_off, {"Items": [second]}, *[{"Items": []}] * 15)
    store = replace(store, draw=lambda below: begin % below)

    assert [each.task_id for each in rows(store.open_tasks)] == ["a", "a", "b"]
    sent = [(request.get("Segment"), request.get("ExclusiveStartKey")) for _, request in client.sent]
    others = [((begin + number) % 16, None) for number in range(1, 16)]
    assert sent == [(None, None), (begin, None), (begin, last), *others]


def test_live_bundles_are_read_on_from_where_a_page_ended_then_from_the_next_of_four_shards():
    last = {"pk": {"S": "tenant#b"}, "live": {"S": "0"}, "createdAt": items.instant(NOW)}
    row = {"tenant": {"S": "tenant"}, "bundleId": {"S": "b"}}
    pages = [{"Items": [row], "LastEvaluatedKey": last}, {"Items": []}, {"Items": [row]}, {"Items": []}]
    store, client = store_of(*pages, {"Items": [row]})
    found = rows(lambda cursor: store.live(NOW + timedelta(hours=1), cursor))
    shards = [request["ExpressionAttributeValues"][":shard"]["S"] for _, request in client.sent]

    assert len(found) == 3
    assert shards == ["0", "0", "1", "2", "3"]
    assert [request.get("ExclusiveStartKey") for _, request in client.sent] == [None, last, None, None, None]
