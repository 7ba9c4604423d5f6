"""Sends AWS requests, and raises the errors of ``fanin.errors`` for AWS error codes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection
from typing import Any

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

from fanin.errors import FaninError, PartFull, StaleWrite, StoreUnavailable

# Conflicts with a transaction on the same item: nothing was written, and botocore does not retry them.
CONFLICTS = frozenset(
    {"TransactionConflictException", "TransactionInProgressException", "TransactionConflict"}
)
CONFLICT_ATTEMPTS = 8
FIRST_PAUSE_SECONDS = 0.02

# The codes of a request, and of one action of a transaction.
FULL = frozenset({"ItemCollectionSizeLimitExceededException", "ItemCollectionSizeLimitExceeded"})
FULL_TEXT = (
    "a part of this queue holds 10 GB, all that DynamoDB stores of one: raise the queue's parts with"
    " PUT /v1/queues/QUEUE, which moves jobs to the new ones"
)

MEANING: dict[str, type[FaninError]] = {
    "ConditionalCheckFailedException": StaleWrite,
    "TransactionCanceledException": StaleWrite,
    "ProvisionedThroughputExceededException": StoreUnavailable,
    "RequestLimitExceeded": StoreUnavailable,
    "ThrottlingException": StoreUnavailable,
    "ThrottlingError": StoreUnavailable,
    "InternalServerError": StoreUnavailable,
    "ServiceUnavailable": StoreUnavailable,
    # S3's own codes: too many requests of a prefix, a failure inside, a body that came too slowly.
    "SlowDown": StoreUnavailable,
    "InternalError": StoreUnavailable,
    "RequestTimeout": StoreUnavailable,
}


def send(operation: Callable[..., Any], request: dict[str, Any]) -> dict[str, Any]:
    """Send *request* and return the answer.

    Raises StaleWrite, with the stored items, if a condition failed, and StoreUnavailable if the request was
    throttled, failed or timed out; it may have been applied. Conflicts with transactions are retried, bounded
    and jittered. Other AWS errors (a malformed request, a missing grant) are defects and propagate.
    """
    for attempt in range(CONFLICT_ATTEMPTS):
        try:
            answer: dict[str, Any] = operation(**request)
            return answer
        except ClientError as error:
            if error.response["Error"]["Code"] == "ResourceNotFoundException":
                error.add_note(
                    f"there is no {request.get('TableName', 'such table')}: check name, region, account"
                )
            if not _is_conflict(error):
                raise _translated(error) from error
        except (ConnectionError, HTTPClientError) as error:
            raise StoreUnavailable("AWS cannot be reached; retry") from error
        time.sleep(random.uniform(0, FIRST_PAUSE_SECONDS * 2**attempt))
    raise StoreUnavailable(f"{CONFLICT_ATTEMPTS} attempts met a conflicting transaction; retry")


def has_effect(operation: Callable[..., Any], request: dict[str, Any], without: Collection[str]) -> bool:
    """Send *request*; return False if it is refused with a code of *without*. Otherwise as ``send``."""
    try:
        send(operation, request)
    except ClientError as error:
        if error.response["Error"]["Code"] not in without:
            raise
        return False
    return True


def _is_conflict(error: ClientError) -> bool:
    return bool(CONFLICTS & {error.response["Error"]["Code"], *_reason_codes(error)})


def _reason_codes(error: ClientError) -> list[str]:
    return [reason.get("Code", "None") for reason in _reasons(error)]


def _reasons(error: ClientError) -> list[dict[str, Any]]:
    reasons: list[dict[str, Any]] = error.response.get("CancellationReasons", [])  # type: ignore[assignment]
    return reasons


def _translated(error: ClientError) -> Exception:
    code = error.response["Error"]["Code"]
    if code == "TransactionCanceledException":
        return _cancelled(error)
    if code in FULL:
        return PartFull(FULL_TEXT)
    meaning = MEANING.get(code)
    if meaning is None:
        return _by_status(error)
    if meaning is StaleWrite:
        return StaleWrite("a condition failed", stored=(error.response.get("Item"),))  # type: ignore[arg-type]
    return meaning("AWS throttles these requests; retry")


def _cancelled(error: ClientError) -> Exception:
    """Return StaleWrite if only conditions failed, StoreUnavailable if throttled, else *error* itself."""
    reasons = _reason_codes(error)
    codes = set(reasons) - {"None"}
    if codes == {"ConditionalCheckFailed"}:
        stored = tuple(reason.get("Item") for reason in _reasons(error))
        failed = tuple(position for position, code in enumerate(reasons) if code != "None")
        return StaleWrite("a condition failed", stored=stored, failed=failed)
    if codes & FULL:
        return PartFull(FULL_TEXT)
    if codes & {"ThrottlingError", "ProvisionedThroughputExceeded"}:
        return StoreUnavailable("the store is throttled; retry")
    return error


def _by_status(error: ClientError) -> Exception:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = error.response["Error"]["Code"]
    return StoreUnavailable(f"AWS failed ({code}); retry") if status >= 500 else error
