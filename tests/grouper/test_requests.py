"""What the store asks of DynamoDB that no reader of a row shows, and its reads by the answers of a client."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fanin.errors import StoreUnavailable
from fanin.grouper import Lane, Lease, TaskState
from fanin.grouper.dynamodb import DynamoStore, items, requests
from tests.contract.grouper.calls import ENDED, LANE, LATER, NOW, empty, rows, task
from tests.contract.grouper_tables import TABLES
from tests.scripted import AnsweringClient, refused

EXPIRY = {"N": str(int(LATER.timestamp()))}
"""The time to live of what expires at LATER: DynamoDB reads it as whole seconds since 1970."""


PART = Lane("tenant", "search", "part-x-0")


def values(request):
    return request["ExpressionAttributeValues"]


def test_a_time_to_live_is_in_whole_seconds_since_1970():
    assert items.time_to_live(datetime(1970, 1, 2, 0, 0, 3, 999999, tzinfo=UTC)) == {"N": "86403"}


@pytest.mark.parametrize("facts", [ENDED, {"state": TaskState.CREATED}])
def test_a_settled_task_has_the_time_to_live_of_its_new_expiry(facts):
    settled = task(expires_at=LATER + timedelta(days=1), **facts)
    written = values(requests.settle("Tasks", settled, "bundle"))

    assert written[":ttl"] == {"N": str(int(LATER.timestamp()) + 86_400)}


def test_a_claim_gives_the_bundle_and_its_tasks_the_time_to_live_of_the_bundle():
    actions = requests.claim("Tasks", "Bundles", empty().joined(("a", "b")), ("a", "b"))["TransactItems"]

    assert [values(action["Update"])[":ttl"] for action in actions] == [EXPIRY] * 3


def test_a_void_bundle_has_a_time_to_live():
    request = requests.seal("Bundles", empty())

    assert values(request)[":ttl"] == EXPIRY
    assert "#ttl = if_not_exists(#ttl, :ttl)" in request["UpdateExpression"]


@pytest.mark.parametrize("holder", ["me", None])
def test_the_lease_of_a_part_is_deleted_30_days_after_it_ends(holder):
    request = requests.put_lease("Leases", Lease(PART, 1, "me", NOW), Lease(PART, 2, holder, LATER))

    assert values(request)[":ttl"] == {"N": str(int(LATER.timestamp()) + 30 * 86_400)}


def test_the_lease_of_a_target_is_never_deleted():
    assert ":ttl" not in values(requests.put_lease("Leases", None, Lease(LANE, 1, "me", LATER)))


def test_a_task_whose_row_is_deleted_while_it_is_registered_again_asks_for_a_retry():
    store = DynamoStore(AnsweringClient(refused(), {}), TABLES)
    with pytest.raises(StoreUnavailable, match="deleted during the write; retry"):
        store.create(task("a"))


SEEN, WANTED = Lease(LANE, 6, "me", NOW), Lease(LANE, 7, "you", LATER)


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


def store_of(*answers):
    client = AnsweringClient(*answers)
    return DynamoStore(client, TABLES, pause=lambda _: None), client
