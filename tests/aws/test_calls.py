"""One AWS request: the answer, or the error that says what to do."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError

from fanin.aws import calls
from fanin.errors import PartFull, StaleWrite, StoreUnavailable


def refusal(code, status=400, **more):
    answer = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}, **more}
    return ClientError(answer, "UpdateItem")


def cancelled(*codes):
    reasons = [
        {"Code": code, **({"Item": {"n": {"N": "1"}}} if code == "ConditionalCheckFailed" else {})}
        for code in codes
    ]
    return refusal("TransactionCanceledException", CancellationReasons=reasons)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(calls.time, "sleep", lambda _: None)


def answering(*outcomes):
    remaining = list(outcomes)

    def operation(**request):
        outcome = remaining.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome | request

    operation.remaining = remaining
    return operation


def test_the_answer_comes_back():
    assert calls.send(answering({"ok": 1}), {"TableName": "t"}) == {"ok": 1, "TableName": "t"}


def test_a_failed_condition_brings_the_stored_item():
    with pytest.raises(StaleWrite) as caught:
        calls.send(answering(refusal("ConditionalCheckFailedException", Item={"n": {"N": "3"}})), {})

    assert caught.value.stored == ({"n": {"N": "3"}},)


def test_a_cancelled_transaction_brings_an_item_a_write():
    with pytest.raises(StaleWrite) as caught:
        calls.send(answering(cancelled("None", "ConditionalCheckFailed")), {})

    assert caught.value.stored == (None, {"n": {"N": "1"}})


@pytest.mark.parametrize(
    "conflict",
    [
        refusal("TransactionConflictException"),
        cancelled("TransactionConflict"),
        cancelled("ConditionalCheckFailed", "TransactionConflict"),
    ],
)
def test_a_conflict_is_sent_again(conflict):
    assert calls.send(answering(conflict, conflict, {"ok": 1}), {}) == {"ok": 1}


def test_conflicts_are_sent_again_a_bounded_number_of_times():
    operation = answering(*[refusal("TransactionConflictException")] * 100)

    with pytest.raises(StoreUnavailable):
        calls.send(operation, {})
    assert len(operation.remaining) == 100 - calls.CONFLICT_ATTEMPTS


@pytest.mark.parametrize(
    "error",
    [
        refusal("ProvisionedThroughputExceededException"),
        refusal("ThrottlingException"),
        refusal("SomethingNew", status=500),
        cancelled("ThrottlingError"),
        cancelled("None", "ProvisionedThroughputExceeded"),
        EndpointConnectionError(endpoint_url="x"),
        ConnectionClosedError(endpoint_url="x"),
    ],
)
def test_an_error_of_the_service_leaves_the_state_unknown(error):
    with pytest.raises(StoreUnavailable):
        calls.send(answering(error), {})


@pytest.mark.parametrize(
    "full",
    [
        refusal("ItemCollectionSizeLimitExceededException"),
        cancelled("None", "ItemCollectionSizeLimitExceeded"),
        cancelled("ConditionalCheckFailed", "ItemCollectionSizeLimitExceeded"),
    ],
    ids=["write", "transaction", "transaction with a failed condition"],
)
def test_a_part_that_is_full_is_an_error_that_says_what_to_do(full):
    with pytest.raises(PartFull, match=r"10 GB.*raise the queue's parts with PUT /v1/queues/"):
        calls.send(answering(full), {})


def test_a_table_that_is_missing_is_named():
    with pytest.raises(ClientError) as missing:
        calls.send(answering(refusal("ResourceNotFoundException")), {"TableName": "nosuch"})
    assert missing.value.__notes__ == ["there is no nosuch: check name, region, account"]


@pytest.mark.parametrize(
    "bug", [refusal("ValidationException"), refusal("AccessDeniedException"), cancelled("ValidationError")]
)
def test_a_bug_of_ours_passes_through(bug):
    with pytest.raises(ClientError):
        calls.send(answering(bug), {})
