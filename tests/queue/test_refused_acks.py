"""The error of an ack whose own writes are refused: it names these writes, and has their rows."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from fanin.errors import InvalidRequest, StaleWrite
from fanin.queue.dynamodb import DynamoStore, items
from fanin.queue.rules import lifecycle
from fanin.queue.rules.model import Dead
from tests.contract.queue.calls import LATER, new
from tests.contract.queue_table import QUEUE_TABLE
from tests.item_ids import item_named
from tests.scripted import AnsweringClient

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
