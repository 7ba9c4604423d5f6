"""The query parameters of a map, and its answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from fanin.api.answers.batch_answers import Answer
from fanin.tracker.reads.mapping import CELLS_MAX, BatchMap
from fanin.tracker.rules.ids import TOTAL_MAX


def whole_number(name: str, least: int, most: int, described: str, subject: str) -> Any:
    """Return the type of the number *name* in the query, *least* to *most*; a refusal names *subject*."""

    def checked(text: object) -> object:
        is_digits = (
            isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= len(str(most))
        )
        if not is_digits or str(int(str(text))) != text or not least <= int(text) <= most:
            bounds = {"subject": subject, "least": least, "most": most}
            raise PydanticCustomError("number", "{subject} is a whole number from {least} to {most}", bounds)
        return text

    number = Annotated[int, Field(ge=least, le=most), BeforeValidator(checked)]
    return Annotated[number | None, Query(alias=name, description=described)]


WINDOWED = ("cells", "from", "to")

Cells = whole_number(
    "cells", 1, CELLS_MAX, f"The most cells of the map; without it, {CELLS_MAX}.", "the number of cells"
)
Start = whole_number(
    "from",
    0,
    TOTAL_MAX - 1,
    "The first item of the window, counted over the whole batch; without it, 0.",
    "the first item",
)
Stop = whole_number(
    "to",
    1,
    TOTAL_MAX,
    "The end of the window, exclusive: one more than its last item; without it, the batch's total.",
    "the end of the window",
)


class MapAnswer(Answer):
    """The items *from* to *to* of a batch in cells of *cellItems* items; *to* is exclusive.

    Items are counted over the whole batch, in the order in which they were added. The last cell may be
    shorter. *acked*: how many items of each cell are done. *failed*: 1 for a cell with failed items. *exact*:
    whether the numbers are counted; if not, those of some cells are estimates, and a cell whose failures are
    on pages that were not read has 0. An estimated batch does not know which items failed.
    """

    start: Annotated[int, Field(alias="from")]
    stop: Annotated[int, Field(alias="to")]
    cell_items: int
    acked: list[int]
    failed: list[Literal[0, 1]]
    exact: bool

    @classmethod
    def of(cls, found: BatchMap) -> Self:
        flags: list[Literal[0, 1]] = [1 if failed else 0 for failed in found.failed]
        return cls.like(found, acked=list(found.acked), failed=flags)
