"""Reads lists page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar


class Page(Protocol):
    """One page of a list; *cursor* is None on the last one."""

    @property
    def cursor(self) -> Any: ...


P = TypeVar("P", bound=Page)


def pages(request: Callable[..., P], *arguments: str) -> Iterator[P]:
    """Yield the pages of a list: *request* is called with *arguments* and a cursor when a page is needed."""
    page = request(*arguments, None)
    yield page
    while page.cursor is not None:
        page = request(*arguments, page.cursor)
        yield page
