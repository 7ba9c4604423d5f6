"""Answers of AWS that an emulator never gives: throttled, in conflict, in part. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
THROTTLED = {
    "dynamodb": "ProvisionedThroughputExceededException",
    "sqs": "RequestThrottled",
    "events": "ThrottlingException",
}
CONFLICTED = "TransactionConflictException"
CANCELLED = "TransactionCanceledException"
PARTS = {
    "SendMessageBatch": "Entries",
    "ChangeMessageVisibilityBatch": "Entries",
    "DeleteMessageBatch": "Entries",
    "PutEvents": "Entries",
    "BatchExecuteStatement": "Statements",
}


def throttled(service: str) -> tuple[int, bytes]:
    """Return the answer to a request that the service throttles."""
    if service == "s3":
        return 503, b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
    return 400, _error(THROTTLED.get(service, "ThrottlingException"))


def conflicted(operation: str, request: Mapping[str, Any]) -> tuple[int, bytes]:
    """Return the answer to a write in conflict with a transaction: its own code, or one reason of several."""
    if operation != "TransactWriteItems":
        return 400, _error(CONFLICTED)
    reasons = [{"Code": "None"} for _ in request["TransactItems"]]
    reasons[-1] = {"Code": "TransactionConflict", "Message": "in conflict"}
    return 400, _error(CANCELLED, CancellationReasons=reasons)


def failed() -> tuple[int, bytes]:
    """Return the answer of a service that failed, perhaps after it applied the request."""
    return 500, _error("InternalServerError")


def halved(operation: str, request: Json) -> tuple[Json, Json]:
    """Divide a batch request into the half that is applied, and what is left of it."""
    if name := PARTS.get(operation):
        entries = request[name]
        middle = len(entries) // 2
        return {**request, name: entries[:middle]}, {**request, name: entries[middle:]}
    first, second = {}, {}
    for table, asked in request["RequestItems"].items():
        some = asked if isinstance(asked, list) else asked["Keys"]
        middle = len(some) // 2
        for part, into in ((some[:middle], first), (some[middle:], second)):
            if part:
                into[table] = part if isinstance(asked, list) else {**asked, "Keys": part}
    return {**request, "RequestItems": first}, {**request, "RequestItems": second}


def is_empty(operation: str, request: Json) -> bool:
    """Whether no part of a halved request is to be applied."""
    return not request[PARTS.get(operation, "RequestItems")]


def in_part(operation: str, answer: Json, unsent: Json) -> bytes:
    """Return *answer*, of the half that was applied, with *unsent* as refused."""
    if operation in ("BatchGetItem", "BatchWriteItem"):
        named = "UnprocessedKeys" if operation == "BatchGetItem" else "UnprocessedItems"
        empty: Json = {"Responses": {}} if operation == "BatchGetItem" else {}
        return json.dumps({**empty, **answer, named: unsent["RequestItems"]}).encode()
    unsent_entries = unsent[PARTS[operation]]
    if operation == "BatchExecuteStatement":
        throttled = [{"Error": {"Code": "ThrottlingError", "Message": "throttled"}} for _ in unsent_entries]
        return json.dumps({**answer, "Responses": [*answer.get("Responses", []), *throttled]}).encode()
    if operation == "PutEvents":
        refused = [{"ErrorCode": "ThrottlingException", "ErrorMessage": "throttled"} for _ in unsent_entries]
        entries = [*answer.get("Entries", []), *refused]
        return json.dumps({"FailedEntryCount": len(unsent_entries), "Entries": entries}).encode()
    failures = [{"Id": each["Id"], "Code": "InternalError", "SenderFault": False} for each in unsent_entries]
    return json.dumps({"Successful": answer.get("Successful", []), "Failed": failures}).encode()


def one_item(request: Json) -> bytes:
    """Return a list request whose page has one row."""
    return json.dumps({**request, "Limit": 1}).encode()


def _error(code: str, **more: Any) -> bytes:
    return json.dumps({"__type": f"com.amazonaws#{code}", "message": code, **more}).encode()
