"""Reads the answer of a Lambda handler to a delivery: which of its messages return to the queue."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from fanin.errors import InvalidRequest


def returned_ids(answer: Any, sent: AbstractSet[str]) -> set[str]:
    """Return the message ids of *sent* in a partial batch response; None and empty ones have none.

    Raises InvalidRequest for any other answer, with which Lambda returns the whole delivery.
    """
    try:
        failed = {entry["itemIdentifier"] for entry in (answer or {}).get("batchItemFailures") or ()}
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidRequest(f"the handler's answer is no partial batch response: {answer!r}") from error
    if unknown := failed - sent:
        raise InvalidRequest(f"the handler's answer names messages that it did not get: {unknown}")
    return failed
