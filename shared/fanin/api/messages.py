"""Acks in SQS messages, parsed as strictly as by the HTTP edge, without importing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanin.api import strict_json
from fanin.errors import InvalidRequest
from fanin.result_texts import RESULT_MAX, result_text
from fanin.tracker import Ack, Outcome
from fanin.tracker.rules.model import REASON_MAX, is_reason

BODY_MAX = 4096 + RESULT_MAX
"""Characters of a message: an item id has less than 100, a reason 512, escapes included, and a result."""
TEXTS = {"itemId", "outcome", "reason"}


def ack_of(record: Mapping[str, Any]) -> Ack:
    """Return the ack of *record*, whose caller is the message id.

    The body is the id of an item that is done, or
    ``{"itemId": <id>, "outcome"?: "success" | "failure", "reason"?: <text, of a failure>,
    "result"?: <JSON, of a success>}``.
    Raises InvalidRequest for any other body; unknown fields are refused, because ignoring one could ack an
    item wrongly.
    """
    body: str = record["body"].strip()
    if len(body) > BODY_MAX:
        raise InvalidRequest(f"the body of an ack has at most {BODY_MAX} characters")
    if not body.startswith("{"):
        return Ack.of(body, record["messageId"])
    document = strict_json.parse(body)
    result = result_text(document.pop("result", None))
    if not document.keys() <= TEXTS or not all(isinstance(value, str) for value in document.values()):
        raise InvalidRequest("an ack is an item id, or an object with itemId, outcome, reason and result")
    item = document.get("itemId", "")
    return Ack.of(item, record["messageId"], _outcome(document), _reason(document), result)


def _outcome(document: Mapping[str, str]) -> Outcome:
    outcome = document.get("outcome", Outcome.SUCCESS)
    if outcome not in set(Outcome):
        raise InvalidRequest("an outcome is success or failure", field="outcome")
    return Outcome(outcome)


def _reason(document: Mapping[str, str]) -> str | None:
    reason = document.get("reason")
    if reason is None:
        return None
    if not is_reason(reason) or document.get("outcome") != Outcome.FAILURE:
        raise InvalidRequest(
            f"a reason is 1 to {REASON_MAX} characters on a failure, none of them control characters",
            field="reason",
        )
    return reason
