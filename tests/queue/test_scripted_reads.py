"""The store and registry by the answers of a client: pages, reads after refusals, and refused acks."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from fanin.errors import InvalidRequest, StaleWrite
from fanin.queue.dynamodb import DynamoStore, items
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.rules import lifecycle
from fanin.queue.rules.keys import QueueKey
from fanin.queue.rules.model import Dead, Member
from tests.contract.queue.calls import LATER, NOW, QUEUE, new
from tests.contract.queue_table import QUEUE_TABLE
from tests.item_ids import item_named
from tests.scripted import AnsweringClient

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
    with pytest.raises(StaleWrite) as refused:
        DynamoStore(client, QUEUE_TABLE).end(job, LATER, WRITES)

    return refused.value


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

    assert error.failed == failed
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
    with pytest.raises(InvalidRequest) as refused:
        ended_with(answer, WRITES)

    assert refused.value.field == "writes"


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
