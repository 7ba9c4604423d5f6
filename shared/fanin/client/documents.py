"""The JSON of the HTTP contract, version 1: bodies written, answers read, problems turned into errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from fanin.client.items import Items
from fanin.client.model import AckReport, Closed, Completion, ItemVerdict, Status
from fanin.errors import Conflict, FaninError, InvalidRequest, KeyReused, NotFound, StoreUnavailable
from fanin.tracker import OpenBatch, Retention, State, Verdict

T = TypeVar("T")
Document = Mapping[str, Any]
SECOND = timedelta(seconds=1)

MEANING: Mapping[int, type[FaninError]] = {
    404: NotFound,
    409: Conflict,
    422: KeyReused,
    429: StoreUnavailable,
}


def wish_body(wish: OpenBatch) -> Document:
    """The body of open; what the caller leaves to the service is left out."""
    body: dict[str, Any] = {"mode": wish.mode}
    if wish.user_key is not None:
        body["userKey"] = wish.user_key
    if wish.retention != Retention():
        kept = wish.retention
        stages = {"open": kept.open, "closed": kept.closed, "complete": kept.complete}
        body["retentionSeconds"] = {stage: time // SECOND for stage, time in stages.items()}
    return body


def read(body: bytes, reader: Callable[[Document], T]) -> T:
    """What *reader* makes of an answer's *body*; FaninError where that is no answer of this API."""
    try:
        return reader(json.loads(body))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FaninError("the answer is not one of fanin's API, version 1; is it the right URL?") from error


def error_of(status: int, body: bytes) -> FaninError:
    """The error that an answer stands for, with the detail that it gives."""
    problem = _problem(body)
    detail = str(problem.get("detail") or problem.get("message") or f"the API answered with status {status}")
    meaning = MEANING.get(status)
    if meaning is not None:
        return meaning(detail)
    if 400 <= status < 500:
        return InvalidRequest(detail, field=_field(problem))
    return StoreUnavailable(detail) if status >= 500 else FaninError(detail)


def batch_id_of(answer: Document) -> str:
    return str(answer["batchId"])


def status_of(answer: Document) -> Status:
    progress = answer["progress"]
    return Status(
        batch_id=answer["batchId"],
        user_key=answer["userKey"],
        mode=answer["mode"],
        state=State(answer["state"]),
        total=answer["total"],
        acked=progress["acked"],
        failed=progress["failed"],
        upper_bound=progress["upperBound"],
        exact=progress["exact"],
        result=answer.get("result"),
        created_at=datetime.fromisoformat(answer["createdAt"]),
        expires_at=datetime.fromisoformat(answer["expiresAt"]),
        closed_at=_time(answer.get("closedAt")),
        completed_at=_time(answer.get("completedAt")),
    )


def items_of(answer: Document) -> Items:
    (group,) = answer["groups"]
    return Items(answer["batchId"], group["id"], group["upto"])


def closed_of(answer: Document) -> Closed:
    return Closed(
        batch_id=answer["batchId"],
        user_key=answer["userKey"],
        state=State(answer["state"]),
        total=answer["total"],
        completed_by_you=answer["completedByYou"],
    )


def report_of(answer: Document) -> AckReport:
    results = (ItemVerdict(one["itemId"], Verdict(one["verdict"])) for one in answer["results"])
    done = (one for one in answer["completions"] if one["completedByYou"])
    return AckReport(
        tuple(results),
        tuple(Completion(one["batchId"], one["userKey"], one["result"]) for one in done),
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _problem(body: bytes) -> Document:
    """The problem document; empty where something between us and the API answered in another form."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _field(problem: Document) -> str | None:
    """The first field that the problem names."""
    errors = problem.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    return str(first["field"]) if isinstance(first, dict) and "field" in first else None
