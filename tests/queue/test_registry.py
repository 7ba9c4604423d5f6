"""The rows of a queue as DynamoDB lists them: pages, phases, the last count, and refused acks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from botocore.exceptions import ClientError, ParamValidationError
from moto import mock_aws

from fanin.errors import InvalidRequest, StaleWrite, StoreUnavailable
from fanin.queue import Effects, MemoryDoorbell, QueueContext, QueueKey
from fanin.queue.administration import removing
from fanin.queue.administration.creating import create_row
from fanin.queue.administration.describing import CountedDepth
from fanin.queue.administration.raising import raise_parts
from fanin.queue.dynamodb import DynamoStore, items
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.keys import DAY_MINUTES, visit_minute
from fanin.queue.rules.model import Accuracy, Dead, Depth, JobState, Member
from tests.contract import moto_clients
from tests.contract.queue.calls import LATER, NOW, PART, QUEUE, new
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table
from tests.item_ids import item_named
from tests.scripted import AnsweringClient, refused

KEY = QueueKey("t#1", "q")


@pytest.fixture
def client():
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_queue_table(client)
        yield client


@pytest.mark.parametrize(
    ("phase", "is_listed", "is_visited"),
    [
        ({}, True, False),
        ({"idle_us": 1}, True, False),
        ({"idle_us": 1, "asleep_us": 2}, False, True),
        ({"idle_us": 1, "removing_us": 2}, True, False),
        ({"removing_us": 2, "removed_us": 3}, False, False),
    ],
)
def test_a_queue_is_listed_by_its_phase(client, phase, is_listed, is_visited):
    store, registry = DynamoStore(client, QUEUE_TABLE), Registry(client, QUEUE_TABLE)
    store.create(KEY, QueueConfig(8))
    store.reconfigure(KEY, replace(QueueConfig(8), revision=1, **phase))
    minute = visit_minute(KEY)

    assert list(registry.queues()) == [KEY] * is_listed
    assert list(registry.sleeping(minute)) == [KEY] * is_visited
    assert list(registry.sleeping((minute + 1) % DAY_MINUTES)) == []


def remove(store):
    effects = Effects(each=lambda call, values: [call(value) for value in values])
    removing.begin(QueueContext(store, MemoryDoorbell(), KEY, effects=effects), force=False)


@pytest.mark.parametrize("change", [lambda store: raise_parts(store, Effects(), KEY, 16), remove])
def test_a_raise_and_a_removal_list_a_sleeping_queue_again(client, change):
    store, registry = DynamoStore(client, QUEUE_TABLE), Registry(client, QUEUE_TABLE)
    store.create(KEY, QueueConfig(8, idle_us=1, asleep_us=2))
    change(store)

    assert list(registry.queues()) == [KEY]
    assert list(registry.sleeping(visit_minute(KEY))) == []


def test_a_queue_that_was_removed_in_a_raise_is_created_with_fewer_parts_and_without_it(client):
    store, registry = DynamoStore(client, QUEUE_TABLE), Registry(client, QUEUE_TABLE)
    gone = {"removing_us": 2, "removed_us": 3, "paused": True, "metrics": True}
    raised = QueueConfig(16, 7, before=8, phase=Phase.DRAINING, since_us=1, cursor="0001#k", **gone)
    store.create(KEY, raised)
    store.count_change(KEY)
    stored = create_row(store, KEY, QueueConfig(4))

    assert stored == store.config(KEY) == QueueConfig(4, revision=8)
    assert list(registry.queues()) == [KEY]


def test_the_row_of_a_removed_queue_is_deleted_later(client):
    store = DynamoStore(client, QUEUE_TABLE)
    store.create(KEY, QueueConfig(8, removing_us=1, removed_us=1_772_366_400_000_000))
    row = client.get_item(TableName=QUEUE_TABLE, Key={"pk": {"S": f"C#{KEY}"}, "sk": {"S": "config"}})["Item"]

    assert int(row["ttl"]["N"]) == 1_772_366_400 + 86_400


def test_the_visits_of_many_queues_are_spread_over_the_day():
    minutes = [visit_minute(QueueKey("t", f"q{number}")) for number in range(10_000)]
    busiest = max(minutes.count(minute) for minute in set(minutes))

    assert set(minutes) <= set(range(DAY_MINUTES))
    assert (min(minutes), max(minutes)) == (0, 23 * 60 + 59)
    assert busiest < 30


THUMBS, GONE = QueueKey("t", "thumbs"), QueueKey("t", "gone")
DEPTH = Depth(1, 2, 3, 4, 5, Accuracy.AT_LEAST)


@pytest.mark.parametrize(("at_us", "kept"), [(19, 1), (20, 1), (21, 9)])
@mock_aws
def test_only_a_count_of_a_later_time_replaces_the_one_that_is_kept(at_us, kept):
    client = moto_clients.client("dynamodb")
    create_queue_table(client)
    DynamoStore(client, QUEUE_TABLE).create(THUMBS, QueueConfig(2))
    registry = Registry(client, QUEUE_TABLE)
    registry.record(THUMBS, CountedDepth(DEPTH, 20, 7))
    registry.record(THUMBS, CountedDepth(replace(DEPTH, ready=9), at_us, 7))

    registry.record(GONE, CountedDepth(DEPTH, 20, 7))

    assert registry.seen([GONE]) == {}
    assert registry.seen([THUMBS])[THUMBS][1] == CountedDepth(replace(DEPTH, ready=kept), max(at_us, 20), 7)


MEMBER = Member("s1", True, LATER, 5_000_000, "host", 1, NOW)
LIVE = items.member_item(QUEUE, MEMBER)
LAST = {"pk": {"S": "last"}, "sk": {"S": "row"}}
"""The key of the last row of a page, after which the next one starts."""


def pages(*some):
    """Return the answers of a query whose pages have these rows; each but the last names its last row."""
    *firsts, last = [{"Items": list(rows)} for rows in some]
    return [page | {"LastEvaluatedKey": LAST} for page in firsts] + [last]


def starts(client):
    return [request.get("ExclusiveStartKey") for _, request in client.sent]


def queue_rows(*names):
    return [items.config_row(QueueKey("tenant", name)) for name in names]


@pytest.mark.parametrize("method", ["queues", "sleeping"])
def test_the_queues_of_a_sweep_are_read_on_from_where_a_page_ended(method):
    client = AnsweringClient(*pages(queue_rows("a"), [], queue_rows("b", "c")))
    registry = Registry(client, QUEUE_TABLE)
    found = registry.queues() if method == "queues" else registry.sleeping(7)

    assert [queue.name for queue in found] == ["a", "b", "c"]
    assert starts(client) == [None, LAST, LAST]


def test_a_page_of_a_tenants_queues_is_read_until_it_is_full():
    for limit, names in ((3, "abc"), (1, "a")):
        client = AnsweringClient(*pages(queue_rows("a"), queue_rows("b", "c"), []))
        found = Registry(client, QUEUE_TABLE).of_tenant("tenant", None, limit)

        assert [queue.name for queue in found] == [*names]
        assert starts(client) == [None, LAST][: len(names)]


def test_a_limited_list_is_read_until_it_is_full():
    rows = [LIVE | {"sk": {"S": each}} for each in "abc"]
    client = AnsweringClient(*pages(rows[:1], rows[1:], []))
    found = DynamoStore(client, QUEUE_TABLE).members_after(QUEUE, None, 2)

    assert [member.id for member in found] == ["a", "b"]
    assert starts(client) == [None, LAST]


@pytest.mark.parametrize(
    ("read", "is_consistent"),
    [
        (lambda store: store.config(QUEUE), True),
        (lambda store: store.get(new().key), True),
        (lambda store: store.ready(PART, 1), True),
        (lambda store: store.members(QUEUE), True),
        (lambda store: store.page(PART, "", 1), True),
        (lambda store: store.some_members(QUEUE, ["s1"]), True),
        (lambda store: store.peek(QUEUE, ["s1"]), False),
        (lambda store: store.peek(QUEUE, None), False),
        (lambda store: store.peek_config(QUEUE), False),
        (lambda store: store.count(PART, JobState.READY, 1), False),
    ],
)
def test_reads_that_a_write_follows_are_consistent_and_looks_cost_half(read, is_consistent):
    client = AnsweringClient({"Items": [], "Count": 0, "Responses": {}})
    read(DynamoStore(client, QUEUE_TABLE))
    ((_, request),) = client.sent

    assert request.get("RequestItems", {QUEUE_TABLE: request})[QUEUE_TABLE]["ConsistentRead"] is is_consistent


@pytest.mark.parametrize("answers", [[refused(Item=LIVE)], [refused(), {"Item": LIVE}]])
def test_a_session_with_later_heartbeats_is_not_ended_also_where_the_refusal_lacks_its_row(answers):
    assert not DynamoStore(AnsweringClient(*answers), QUEUE_TABLE).end_session(QUEUE, "s1", 0)


def test_a_queue_that_is_removed_while_it_is_created_asks_for_a_retry():
    with pytest.raises(StoreUnavailable, match="was removed at the same time"):
        DynamoStore(AnsweringClient(refused(), {}), QUEUE_TABLE).create(QUEUE, QueueConfig(1))


PASSED, REFUSED = {"Code": "None"}, {"Code": "ConditionalCheckFailed"}
OUTCOME = {"pk": {"S": "user"}, "sk": {"S": "outcome"}}
WRITES = [{"Put": {"TableName": "Outcomes", "Item": OUTCOME}}] * 2
MALFORMED = {"Error": {"Code": "ValidationException"}}
UNKNOWN = {"Error": {"Code": "ResourceNotFoundException"}}
DOUBLED = {
    "Error": {"Code": "TransactionCanceledException"},
    "CancellationReasons": [PASSED, {"Code": "ValidationError"}],
}
DENIED = {"Error": {"Code": "AccessDeniedException"}}


def ack_refused_by(*reasons, item_id=None) -> StaleWrite:
    """Return the error of an ack with two writes, cancelled for *reasons*, whose claim still holds."""
    job = lifecycle.claimed(new("a", item_id=item_id), "s1", "c1", LATER)
    codes = {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": list(reasons)}
    client = AnsweringClient(ClientError(codes, "TransactWriteItems"), {"Item": items.job_item(job)})
    with pytest.raises(StaleWrite) as error:
        DynamoStore(client, QUEUE_TABLE).end(job, LATER, WRITES)

    return error.value


@pytest.mark.parametrize("before", [1, 2], ids=["a job", "a job with an item"])
@pytest.mark.parametrize(
    ("reasons", "failed", "names"),
    [
        ([REFUSED, PASSED], (0,), "writes[0]"),
        ([PASSED, REFUSED], (1,), "writes[1]"),
        ([REFUSED, REFUSED], (0, 1), "writes[0], writes[1]"),
    ],
)
def test_a_refused_ack_names_the_writes_by_their_positions_in_the_ack(before, reasons, failed, names):
    error = ack_refused_by(*[PASSED] * before, *reasons, item_id=item_named("item") if before == 2 else None)

    assert (error.failed, len(error.stored)) == (failed, 2)
    assert str(error) == (
        f"the condition of {names} does not hold: nothing was written, and the job is still claimed"
    )


def ended_with(answer: Exception, writes) -> None:
    job = lifecycle.claimed(new("a"), "s1", "c1", LATER)
    DynamoStore(AnsweringClient(answer), QUEUE_TABLE).end(job, LATER, writes, Dead(job, "boom", LATER))


@pytest.mark.parametrize(
    "answer",
    [
        *(ClientError(each, "TransactWriteItems") for each in (MALFORMED, UNKNOWN, DOUBLED)),
        ParamValidationError(report="Missing required parameter: Item"),
    ],
)
def test_writes_that_dynamodb_refuses_for_their_form_are_an_invalid_request(answer):
    with pytest.raises(InvalidRequest) as error:
        ended_with(answer, WRITES)

    assert error.value.field == "writes"


@pytest.mark.parametrize(("answer", "writes"), [(DENIED, WRITES), (MALFORMED, [])])
def test_another_refusal_is_no_defect_of_the_writes(answer, writes):
    with pytest.raises(ClientError):
        ended_with(ClientError(answer, "TransactWriteItems"), writes)


def test_all_sessions_are_read_on_from_where_a_page_ended():
    rows = [LIVE | {"sk": {"S": each}} for each in "abc"]
    client = AnsweringClient(*pages(rows[:1], [], rows[1:]))
    store = DynamoStore(client, QUEUE_TABLE, pause=lambda _: None)

    assert [member.id for member in store.members(QUEUE)] == ["a", "b", "c"]
    assert starts(client) == [None, LAST, LAST]
    assert not any("Limit" in request for _, request in client.sent)
