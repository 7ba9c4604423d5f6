"""The HTTP edge of all routes: admits and validates requests, and answers errors with problem documents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
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
from fanin.api.cursors.list_cursors import CURSOR_FORM
from fanin.api.cursors.queue_cursors import ROW_CURSOR_FORM
from fanin.api.problems import kind_of, respond
from fanin.api.requests.bodies import UUID_FORM
from fanin.api.requests.group_requests import TASK_ID_PATTERN, Target
from fanin.api.requests.wording import KEY_PATTERN, QUEUE_PATTERN, TOKEN_PATTERN
from fanin.errors import NewerSchema
from fanin.settings.tracking import Settings

BatchId = Annotated[str, Path(alias="batchId", pattern=UUID_FORM)]
TaskId = Annotated[str, Path(alias="taskId", pattern=TASK_ID_PATTERN)]
QueueName = Annotated[str, Path(alias="queue", pattern=QUEUE_PATTERN)]
BundleId = Annotated[str, Path(alias="bundleId", pattern=UUID_FORM)]
OfTarget = Annotated[Target, Query(alias="target", description="Only entries of this target.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=KEY_PATTERN,
        description=(
            "Makes a retry of this request safe: 1 to 128 printable ASCII characters. For at least a day, the"
            " same key with another payload, or another batch in the path of close, cancel, end and notify,"
            " is answered with 422; the order of acks does not matter. The key of an add is scoped to its"
            " batch."
        ),
    ),
]

NO_BODY = {"body": "{}", "isBase64Encoded": False}
LISTED_MAX = 100
QUEUES_LISTED_MAX = 50
RANGES_SHOWN_MAX = 1000


def _limit(most: int) -> Any:
    """Return the type of a number in the query, 1 to *most*, in ASCII digits without sign or leading zero."""

    def checked(text: object) -> object:
        is_digits = isinstance(text, str) and text.isascii() and text.isdigit() and text == text.lstrip("0")
        if not is_digits or len(str(text)) > len(str(most)) or int(str(text)) > most:
            raise PydanticCustomError("limit", "a limit is a whole number from 1 to {most}", {"most": most})
        return text

    number = Annotated[int, Field(ge=1, le=most), BeforeValidator(checked)]
    return Annotated[number, Query(alias="limit", description="The most entries of a page.")]


ListLimit = _limit(LISTED_MAX)
QueueLimit = _limit(QUEUES_LISTED_MAX)
RangeLimit = _limit(RANGES_SHOWN_MAX)
Cursor = Annotated[
    Annotated[str, StringConstraints(pattern=CURSOR_FORM)] | None,
    Query(alias="cursor", description="The `cursor` of the page before; without it, the first page."),
]
RowCursor = Annotated[
    Annotated[str, StringConstraints(pattern=ROW_CURSOR_FORM)] | None,
    Query(alias="cursor", description="The `cursor` of the page before; without it, the first page."),
]
TokenText = Annotated[
    Annotated[str, StringConstraints(pattern=TOKEN_PATTERN)],
    Query(alias="token", description="Of `POST /v1/batches/{batchId}/token`."),
]

logger = Logger()


def edge(
    settings: Callable[[], Settings] | None,
    query: Collection[str] = (),
    also: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> APIGatewayHttpResolver:
    """Return a resolver that identifies the caller and validates the request before it calls its route.

    *settings*: None for a route without an authorizer, which has no caller. *query*: names of the route's
    query parameters. *also*: those of the resolver's other routes, by the ends of their paths.
    """
    app = APIGatewayHttpResolver(serializer=_dump, json_body_deserializer=strict_json.parse)

    def admission(app: Any, next_middleware: Callable[[Any], Response[Any]]) -> Response[Any]:
        event = app.current_event.raw_event
        logger.append_keys(request_id=event["requestContext"]["requestId"], route=event.get("routeKey"))
        if settings is not None:
            app.append_context(caller=_identified(event, settings()))
        other = (names for end, names in also.items() if event["rawPath"].endswith(end))
        admit(event, next(other, query))
        event["headers"] = _as_json(event["headers"])
        if not event.get("body"):
            event |= NO_BODY
        return next_middleware(app)

    app.use([admission, OpenAPIRequestValidationMiddleware()])  # type: ignore[no-untyped-call]
    app.exception_handler(Exception)(_refuse)
    return app


def _identified(event: Mapping[str, Any], configured: Settings) -> Caller:
    anonymous = configured.tenant if configured.allow_anonymous else None
    return identify(event["requestContext"], anonymous, configured.jwt)


def caller(app: APIGatewayHttpResolver) -> Caller:
    """Return the caller of the request that *app* answers."""
    found: Caller = app.context["caller"]
    return found


def _as_json(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of an admitted request with the one media type that Powertools parses."""
    return {name.lower(): value for name, value in headers.items()} | {"content-type": "application/json"}


def _dump(answer: Any) -> str:
    """Return the JSON of a route's answer, which is a model."""
    return to_json(answer, by_alias=True).decode()


def _refuse(error: Exception) -> Response[str]:
    """Answer *error*, and log it: with its trace if it is unexpected, and never with the request body."""
    kind = kind_of(error)
    if kind.status == 500:
        logger.exception("unexpected error")
    elif isinstance(error, NewerSchema):
        logger.error(str(error), extra={"status": kind.status, "problem": kind.name})
    else:
        logger.info("refused", extra={"status": kind.status, "problem": kind.name})
    return respond(error)
