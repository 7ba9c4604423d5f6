"""The query parameters of a window: one range of a group, in place of a page of the list."""

from __future__ import annotations

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from fanin.api.requests.bodies import Uuid
from fanin.errors import InvalidRequest
from fanin.tracker.rules.ids import COUNT_MAX

PAGED = ("limit", "cursor")
RANGE = ("groupId", "from", "to")
WINDOWED = (*PAGED, *RANGE)
Asked = tuple[str, int, int]
"""A group, and the first and the last index of a window."""


def _index(name: str, which: str) -> Any:
    """Return the type of an index in the query, in ASCII digits without sign or leading zero."""

    def checked(text: object) -> object:
        is_canonical = (
            isinstance(text, str) and text.isascii() and text.isdigit() and str(int(text[:12])) == text
        )
        if not is_canonical:
            raise PydanticCustomError("index", "an index is a whole number from 0")
        return text

    number = Annotated[int, Field(ge=0, lt=COUNT_MAX), BeforeValidator(checked)]
    described = f"The {which} index of a window, inclusive; with `groupId`, `from` and `to`."
    return Annotated[number | None, Query(alias=name, description=described)]


InGroup = Annotated[
    Uuid | None,
    Query(alias="groupId", description="Only items of this group, from `from` to `to`: at most 10,000."),
]
First = _index("from", "first")
Last = _index("to", "last")


def asked_window(
    app: APIGatewayHttpResolver, group_id: str | None, first: int | None, last: int | None
) -> Asked | None:
    """Return the window that the request asks for; None if it asks for a page of the list.

    Raises InvalidRequest unless all three parameters are given, without `limit` and `cursor`, or none.
    """
    if group_id is None and first is None and last is None:
        return None
    given = dict(zip(RANGE, (group_id, first, last), strict=True))
    for name in (name for name, value in given.items() if value is None):
        raise InvalidRequest("a window is given by groupId, from and to", field=name)
    for name in (name for name in PAGED if name in app.current_event.query_string_parameters):
        raise InvalidRequest(f"a window is one page; send it without {name}", field=name)
    return str(group_id), int(first or 0), int(last or 0)
