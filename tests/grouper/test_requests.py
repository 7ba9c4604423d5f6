"""What the store asks of DynamoDB that no reader of a row shows, and its reads by the answers of a client."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fanin.errors import StoreUnavailable
from fanin.grouper import BundleState, Lane, Lease, TaskState
from fanin.grouper.dynamodb import DynamoStore, items, requests
from fanin.grouper.rules.model import Outcome, Verdict
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


def test_outcomes_are_stored_without_spaces_and_escapes():
    """A bundle has up to 1,000 of them, and its row at most 400 KB."""
    outcomes = (Outcome(Verdict.OK), Outcome(Verdict.FAIL, "käy"))

    assert items.outcomes_text(outcomes) == {"S": f'[["{Verdict.OK}",""],["{Verdict.FAIL}","käy"]]'}


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


def store_of(*answers):
    client = AnsweringClient(*answers)
    return DynamoStore(client, TABLES, pause=lambda _: None), client


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


def test_a_read_is_limited_to_its_page_and_reads_more_than_the_lanes_of_one_target():
    for after in (None, 7):
        assert requests.bundles_of("Bundles", LANE, 3, after)["Limit"] == 3
    for after in (None, "search"):
        assert requests.targets_of("Leases", "tenant", after)["Limit"] > 64
