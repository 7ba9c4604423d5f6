"""One HTTP edge for all routes: admit, validate, answer, and turn every error into a problem document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.middlewares.openapi_validation import (
    OpenAPIRequestValidationMiddleware,
)
from aws_lambda_powertools.event_handler.openapi.params import Header, Path, Query
from pydantic import BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError, to_json

from fanin.api import strict_json
from fanin.api.admission import admit
from fanin.api.callers import Caller, identify
from fanin.api.cursors import CURSOR_FORM
from fanin.api.group_requests import TASK_ID_PATTERN, Target
from fanin.api.problems import kind_of, respond
from fanin.api.requests import UUID_FORM
from fanin.api.wording import KEY_PATTERN, QUEUE_PATTERN
from fanin.aws.settings import Settings
from fanin.tracker import Tracker

BatchId = Annotated[str, Path(alias="batchId", pattern=UUID_FORM)]
TaskId = Annotated[str, Path(alias="taskId", pattern=TASK_ID_PATTERN)]
QueueName = Annotated[str, Path(alias="queue", pattern=QUEUE_PATTERN)]
BundleId = Annotated[str, Path(alias="bundleId", pattern=UUID_FORM)]
OfTarget = Annotated[Target, Query(alias="target", description="Only what is of this target.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=KEY_PATTERN,
        description=(
            "Makes a repetition of this very request safe: 1 to 128 printable ASCII characters. With another"
            " payload, or another batch in the path of close, cancel and notify, it is 422, for a day at"
            " least; the order of acks does not matter. The key of an add belongs to its batch."
        ),
    ),
]

NO_BODY = {"body": "{}", "isBase64Encoded": False}
LISTED_MAX = 100
RANGES_SHOWN_MAX = 1000


def _limit(most: int) -> Any:
    """A number of the query, as it is usually written: not ``+5``, `` 5``, ``1_0`` or ``٣``."""

    def checked(text: object) -> object:
        plain = isinstance(text, str) and text.isascii() and text.isdigit() and text == text.lstrip("0")
        if not plain or len(str(text)) > len(str(most)) or int(str(text)) > most:
            raise PydanticCustomError("limit", "a limit is a number from 1 to {most}", {"most": most})
        return text

    number = Annotated[int, Field(ge=1, le=most), BeforeValidator(checked)]
    return Annotated[number, Query(alias="limit", description="Entries of a page, at most.")]


ListLimit = _limit(LISTED_MAX)
RangeLimit = _limit(RANGES_SHOWN_MAX)
Cursor = Annotated[
    Annotated[str, StringConstraints(pattern=CURSOR_FORM)] | None,
    Query(alias="cursor", description="Where to go on: as the answer before gave it, and nothing else."),
]

logger = Logger()


def edge(settings: Callable[[], Settings], query: Collection[str] = ()) -> APIGatewayHttpResolver:
    """A resolver that admits, identifies and validates before a route is called.

    *query*: names that its route knows in a query.
    """
    app = APIGatewayHttpResolver(serializer=_dump, json_body_deserializer=strict_json.parse)

    def guard(app: Any, next_middleware: Callable[[Any], Response[Any]]) -> Response[Any]:
        event = app.current_event.raw_event
        logger.append_keys(request_id=event["requestContext"]["requestId"])
        told = settings()
        anonymous = told.tenant if told.allow_anonymous else None
        app.append_context(caller=identify(event["requestContext"], anonymous, told.jwt))
        admit(event, query)
        event["headers"] = _as_json(event["headers"])
        if not event.get("body"):
            event |= NO_BODY
        return next_middleware(app)

    app.use([guard, OpenAPIRequestValidationMiddleware()])  # type: ignore[no-untyped-call]
    app.exception_handler(Exception)(_refuse)
    return app


def caller(app: APIGatewayHttpResolver) -> Caller:
    """Who sent the request that *app* is answering."""
    found: Caller = app.context["caller"]
    return found


def bind(tracker: Tracker, who: Caller, route: str, key: str | None, payload: str) -> None:
    """Hold *key* to what it first came with on a route, the batch in the path included.

    Raises KeyReused. Without a key nothing is read or written.
    """
    if key is not None:
        tracker.bind_key(who.tenant, route, key, payload)


def _as_json(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an admitted request; Powertools knows only one spelling of JSON's media type."""
    return {name.lower(): value for name, value in headers.items()} | {"content-type": "application/json"}


def _dump(answer: Any) -> str:
    """The JSON of a route's answer, which is a model."""
    return to_json(answer, by_alias=True).decode()


def _refuse(error: Exception) -> Response[str]:
    """Answer *error*; what is our fault is logged with its trace, and no body is logged ever."""
    kind = kind_of(error)
    if kind.status == 500:
        logger.exception("unexpected error")
    else:
        logger.info("refused", extra={"status": kind.status, "problem": kind.name})
    return respond(error)
