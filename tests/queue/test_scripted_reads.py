"""The store and registry by the answers of a client: pages, reads after refusals, and refused acks."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from fanin.errors import InvalidRequest, StaleWrite
from fanin.queue.dynamodb import DynamoStore, items
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.keys import QueueKey
from fanin.queue.rules.model import Dead, JobState, Member
from tests.contract.queue.calls import LATER, NOW, PART, QUEUE, new
from tests.contract.queue_table import QUEUE_TABLE
from tests.item_ids import item_named
from tests.scripted import AnsweringClient, refused

MEMBER = Member("s1", True, LATER, 5_000_000, "host", 1, NOW)


LIVE = items.member_item(QUEUE, MEMBER)


DEAD = LIVE | {"st": {"S": "dead"}}


LAST = {"pk": {"S": "last"}, "sk": {"S": "row"}}
"""The key of the last row of a page, after which the next one starts."""


SIZES = pytest.mark.parametrize(
    ("sizes", "read"),
    [([3], 1), ([3, 1], 1), ([2, 1, 1], 2), ([2, 2], 2), ([1, 0, 1], 3), ([2], 1)],
    ids=str,
)
"""Pages of so many rows, and how many of them a list of three reads."""


def store_of(*answers):
    client = AnsweringClient(*answers)
    return DynamoStore(client, QUEUE_TABLE, pause=lambda _: None), client


def registry_of(*answers):
    client = AnsweringClient(*answers)
    return Registry(client, QUEUE_TABLE), client


def pages(*some):
    """Return the answers of a query whose pages have these rows; each but the last names its last row."""
    *firsts, last = [{"Items": list(rows)} for rows in some]
    return [page | {"LastEvaluatedKey": LAST} for page in firsts] + [last]


def starts(client):
    return [request.get("ExclusiveStartKey") for _, request in client.sent]


def job_rows(*names):
    return [items.job_item(new(name)) for name in names]


def queue_rows(*names):
    return [items.config_row(QueueKey("tenant", name)) for name in names]


@SIZES
def test_a_list_of_three_reads_pages_until_it_has_three_jobs_or_all(sizes, read):
    names = iter("abcdef")
    store, client = store_of(*pages(*(job_rows(*(next(names) for _ in range(size))) for size in sizes)))
    found = [entry.key.sort for entry in store.ready(PART, 3)]

    assert found == [f"k#{name}" for name in "abcdef"[: min(3, sum(sizes))]]
    assert [request["Limit"] for _, request in client.sent] == [3] * read
    assert starts(client) == [None, LAST, LAST][:read]


def test_a_listed_job_that_is_gone_or_has_moved_in_the_index_is_left_out():
    same, gone, moved, done = job_rows("same", "gone", "moved", "done")
    index = {"Items": [gone, same, moved, done]}
    whole = [{name: done[name] for name in done if name != "ix"}, moved | {"ix": {"S": "2#9"}}, same]
    store, _ = store_of(index, {"Responses": {QUEUE_TABLE: whole}})

    assert [job.name for job in store.jobs(PART, JobState.READY, 9)] == ["same"]


@pytest.mark.parametrize(
    ("answer", "is_over"),
    [({"Item": LIVE}, False), ({"Item": DEAD}, True), ({}, True)],
    ids=["has a later heartbeat", "is dead", "is gone"],
)
def test_a_refused_end_of_a_session_without_a_row_in_its_error_reads_it_consistently(answer, is_over):
    store, client = store_of(refused(), answer)

    assert store.end_session(QUEUE, "s1", 0) is is_over
    assert client.names == ["update_item", "get_item"]
    assert client.sent[1][1] == {
        "TableName": QUEUE_TABLE,
        "Key": items.session_row(QUEUE, "s1"),
        "ConsistentRead": True,
    }


def batch_read(client):
    ((name, request),) = client.sent

    assert name == "batch_get_item"
    return request["RequestItems"][QUEUE_TABLE]


@pytest.mark.parametrize(("method", "is_consistent"), [("peek", False), ("some_members", True)])
def test_only_a_peek_at_sessions_is_read_for_half_the_price(method, is_consistent):
    store, client = store_of({"Responses": {QUEUE_TABLE: [LIVE]}})

    assert getattr(store, method)(QUEUE, ["s1"]) == [MEMBER]
    assert batch_read(client)["ConsistentRead"] is is_consistent


def test_the_configs_of_a_list_are_read_for_half_the_price_without_removed_queues():
    gone, kept = QueueKey("tenant", "gone"), QueueConfig(8)
    rows = [items.config_item(gone, QueueConfig(8, removing_us=1, removed_us=NOW))]
    rows += [items.config_item(QUEUE, kept)]
    registry, client = registry_of({"Responses": {QUEUE_TABLE: rows}})

    assert registry.seen([gone, QUEUE]) == {QUEUE: (kept, None)}
    assert batch_read(client)["ConsistentRead"] is False


@pytest.mark.parametrize("method", ["queues", "sleeping"])
def test_the_queues_of_a_sweep_are_read_on_from_where_a_page_ended(method):
    registry, client = registry_of(*pages(queue_rows("a"), [], queue_rows("b", "c")))
    found = registry.queues() if method == "queues" else registry.sleeping(7)

    assert [queue.name for queue in found] == ["a", "b", "c"]
    assert starts(client) == [None, LAST, LAST]


@SIZES
def test_a_page_of_three_queues_is_read_until_it_has_three_or_all(sizes, read):
    names = iter("bcdefg")
    registry, client = registry_of(
        *pages(*(queue_rows(*(next(names) for _ in range(size))) for size in sizes))
    )
    first = items.config_row(QueueKey("tenant", "a")) | {"tenant": {"S": "tenant"}}
    found = [queue.name for queue in registry.of_tenant("tenant", "a", 3)]

    assert found == list("bcdefg"[: min(3, sum(sizes))])
    assert [request["Limit"] for _, request in client.sent] == [3] * read
    assert starts(client) == [first, LAST, LAST][:read]


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


def test_a_refused_ack_has_the_rows_of_its_own_writes_alone():
    stored = OUTCOME | {"by": {"S": "another"}}
    error = ack_refused_by(PASSED, PASSED, REFUSED | {"Item": stored}, PASSED, item_id=item_named("item"))

    assert error.stored == (stored, None)


@pytest.mark.parametrize(
    ("reason", "failed", "names"), [(REFUSED, (1,), "writes[1]"), (PASSED, (), "one of the writes")]
)
def test_an_ack_that_was_refused_for_its_claim_as_well_names_its_own_writes_alone(reason, failed, names):
    """The claim did not hold when the transaction was refused, and holds when the job is read."""
    error = ack_refused_by(REFUSED, PASSED, reason)

    assert error.failed == failed
    assert str(error).startswith(f"the condition of {names} does not hold: ")


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
    store, client = store_of(*pages(rows[:1], [], rows[1:]))

    assert [member.id for member in store.members(QUEUE)] == ["a", "b", "c"]
    assert starts(client) == [None, LAST, LAST]
    assert not any("Limit" in request for _, request in client.sent)
