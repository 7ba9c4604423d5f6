"""The bodies of requests that repair batches: reopen one, force its end."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field, StringConstraints

from fanin.api.requests.batch_requests import Reason
from fanin.api.requests.bodies import Body
from fanin.api.requests.option_types import given_options, options_body
from fanin.errors import InvalidRequest
from fanin.tracker.batch_changes.reopening import ReopenBatch, ReopenItems
from fanin.tracker.rules.options import OPTIONS

TimeText = Annotated[str, StringConstraints(min_length=1, max_length=40)]


def time_given(name: str, described: str, kind: Any = TimeText | None) -> Any:
    """Return the type of the time *name* in the query, by default an optional one; see ``instant_of``."""
    description = f"{described}, RFC 3339, for example `2026-03-01T00:00:00Z`."
    return Annotated[
        kind, Query(alias=name, description=description, json_schema_extra={"format": "date-time"})
    ]


EndedBefore = time_given("endedBefore", "Only batches that ended before this time", TimeText)
OpenedFrom = time_given("openedFrom", "Only batches that were opened at this time or later")
OpenedTo = time_given("openedTo", "Only batches that were opened before this time")


_ReopenOptions: Any = options_body(
    "ReopenOptions", [fact.name for fact in fields(ReopenBatch) if fact.name in OPTIONS], defaults=False
)


class ReopenBatchBody(_ReopenOptions):  # type: ignore[misc]  # made from the table of options
    """The options of the new batch; ``{}``, or no body, takes the failed items and the origin's options."""

    items: Annotated[
        Literal["failed", "unfinished"],
        Field(
            description="`failed`: the failed items of the origin. `unfinished`: the outstanding ones, too."
        ),
    ] = "failed"

    def spec(self, origin_batch_id: str) -> ReopenBatch:
        """Return the request of the tracker's reopen."""
        items = ReopenItems(self.items)
        return ReopenBatch(origin_batch_id=origin_batch_id, items=items, **given_options(self))


class EndBatchBody(Body):
    """Why the batch ends."""

    reason: Reason


def instant_of(text: str, field: str) -> datetime:
    """Return the time in *text*, with its offset from UTC. Raises InvalidRequest."""
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo else _refuse(field)
    except (ValueError, OverflowError):
        return _refuse(field)


def _refuse(field: str) -> datetime:
    raise InvalidRequest(
        f"{field} is a time with an offset from UTC, such as 2026-03-01T00:00:00Z", field=field
    )
