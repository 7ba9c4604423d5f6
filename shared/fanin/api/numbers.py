"""Whole numbers in a query: ASCII digits without sign or leading zero, within bounds."""

from __future__ import annotations

from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError


def whole_number(name: str, least: int, most: int, described: str, what: str) -> Any:
    """Return the type of the number *name* in the query, *least* to *most*; *what* it is in a refusal."""

    def checked(text: object) -> object:
        plain = isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= len(str(most))
        if not plain or str(int(str(text))) != text or not least <= int(text) <= most:
            bounds = {"what": what, "least": least, "most": most}
            raise PydanticCustomError("number", "{what} is a whole number from {least} to {most}", bounds)
        return text

    number = Annotated[int, Field(ge=least, le=most), BeforeValidator(checked)]
    return Annotated[number | None, Query(alias=name, description=described)]
