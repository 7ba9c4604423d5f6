"""RFC 9457 problem documents, and the one table from the errors of ``fanin.errors`` to statuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from fanin.api.admission import NAME_SHOWN, BodyTooLarge, UnsupportedMediaType
from fanin.api.callers import Forbidden
from fanin.api.requests.wording import PATTERN_TEXTS
from fanin.errors import (
    BatchEnded,
    Conflict,
    InvalidRequest,
    KeyReused,
    NewerSchema,
    NoTarget,
    NotFound,
    PartFull,
    QuotaExceeded,
    StaleWrite,
    StoreUnavailable,
    TooManyBatches,
    TooManyPages,
)
from fanin.tracker.rules.model import State

MEDIA_TYPE = "application/problem+json"
FIELDS_SHOWN = 20
RETRY_AFTER_SECONDS = 1
UPGRADE_AFTER_SECONDS = 60
"""``Retry-After`` where a row is newer than the service: the client library does not wait that long."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: its status, its name in ``type``, its title."""

    status: int
    name: str
    title: str


INTERNAL = Kind(500, "internal", "The service failed on this request")

KINDS: Mapping[type[Exception], Kind] = {
    InvalidRequest: Kind(400, "invalid-request", "The request is malformed"),
    RequestValidationError: Kind(400, "invalid-request", "The request is malformed"),
    NoTarget: Kind(422, "no-target", "The task's target cannot be computed"),
    TooManyPages: Kind(400, "too-many-pages", "The request covers too much at once"),
    TooManyBatches: Kind(400, "too-many-batches", "The request covers too much at once"),
    Forbidden: Kind(403, "forbidden", "The caller is not known"),
    NotFound: Kind(404, "not-found", "The resource does not exist"),
    NotFoundError: Kind(404, "no-route", "The route does not exist"),
    Conflict: Kind(409, "conflict", "The state does not allow it"),
    BatchEnded: Kind(409, "batch-ended", "The batch has ended otherwise"),
    PartFull: Kind(409, "part-full", "A part of the queue is full"),
    BodyTooLarge: Kind(413, "body-too-large", "The body is too large"),
    UnsupportedMediaType: Kind(415, "unsupported-media-type", "The body is not JSON"),
    KeyReused: Kind(422, "key-reused", "The idempotency key came with another payload"),
    QuotaExceeded: Kind(429, "quota-exceeded", "The tenant uses all that a quota allows"),
    NewerSchema: Kind(503, "newer-schema", "The service is older than the row"),
    StaleWrite: Kind(503, "unavailable", "Too busy; retry"),
    StoreUnavailable: Kind(503, "unavailable", "Too busy; retry"),
    Exception: INTERNAL,
}


class FieldProblem(BaseModel):
    """What is wrong with one field; the name is a path such as `acks.0.itemId`."""

    field: str
    detail: str


class QuotaUse(BaseModel):
    """A quota of the tenant: its limit, and the present use; a second, where it is a rate."""

    name: Annotated[str, Field(description="`openBatches`, `adds`, `tasks` or `jobs`.")]
    limit: int
    used: int


class End(BaseModel):
    """How a batch has ended."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, from_attributes=True)

    batch_id: str
    state: State
    result: str
    reason: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None


class Problem(BaseModel):
    """An error answer in the form of RFC 9457."""

    model_config = ConfigDict(json_schema_extra={"required": ["type", "title", "status", "detail"]})

    type: Annotated[str, Field(description="`urn:fanin:problem:<name>`, stable.")]
    title: str
    status: int
    detail: Annotated[str, Field(description="What is wrong with this request.")]
    errors: Annotated[list[FieldProblem] | None, Field(exclude_if=lambda value: value is None)] = None
    quota: Annotated[QuotaUse | None, Field(exclude_if=lambda value: value is None)] = None
    batch: Annotated[End | None, Field(exclude_if=lambda value: value is None)] = None


def kind_of(error: Exception) -> Kind:
    """Return the entry of KINDS for the nearest class of *error*."""
    return next(KINDS[cls] for cls in type(error).__mro__ if cls in KINDS)


def problem(error: Exception) -> Problem:
    """Return *error* as a problem document, without details of the implementation."""
    kind = kind_of(error)
    errors = _fields(error)
    return Problem(
        type=f"urn:fanin:problem:{kind.name}",
        title=kind.title,
        status=kind.status,
        detail=_detail(error, kind, errors),
        errors=errors or None,
        quota=_quota(error) if isinstance(error, QuotaExceeded) else None,
        batch=End.model_validate(error) if isinstance(error, BatchEnded) else None,
    )


def respond(error: Exception) -> Response[str]:
    """Return *error* as an HTTP answer."""
    document, seconds = problem(error), _retry_after(error)
    headers = {} if seconds is None else {"Retry-After": str(seconds)}
    return Response(document.status, MEDIA_TYPE, document.model_dump_json(by_alias=True), headers)


def _retry_after(error: Exception) -> int | None:
    """Return the seconds after which a repetition can succeed; None where time alone does not help."""
    if isinstance(error, QuotaExceeded):
        return error.retry_after
    if kind_of(error).status != 503:
        return None
    return UPGRADE_AFTER_SECONDS if isinstance(error, NewerSchema) else RETRY_AFTER_SECONDS


def _quota(error: QuotaExceeded) -> QuotaUse:
    return QuotaUse(name=error.quota, limit=error.limit, used=error.used)


def _detail(error: Exception, kind: Kind, errors: Sequence[FieldProblem]) -> str:
    if isinstance(error, RequestValidationError):
        return "; ".join(f"{one.field}: {one.detail}" for one in errors[:3])
    if kind is INTERNAL or isinstance(error, NotFoundError):
        return f"{kind.title}."
    return str(error)


def _fields(error: Exception) -> list[FieldProblem]:
    if isinstance(error, InvalidRequest) and error.field:
        return [FieldProblem(field=error.field, detail=str(error))]
    if isinstance(error, RequestValidationError):
        return [_field(one) for one in error.errors()[:FIELDS_SHOWN]]
    return []


def _field(error: Mapping[str, Any]) -> FieldProblem:
    _, *path = error["loc"]
    name = ".".join(str(step) for step in path)[:NAME_SHOWN] or "body"
    if error["type"] == "extra_forbidden":
        return FieldProblem(field=name, detail="there is no such field")
    pattern = (error.get("ctx") or {}).get("pattern", "")
    return FieldProblem(field=name, detail=PATTERN_TEXTS.get(pattern, error["msg"]))
