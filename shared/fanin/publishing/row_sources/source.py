"""What has rows, and what is wrong with a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from fanin.errors import Conflict, InvalidRequest

NOTHING_SENT = "; nothing was sent"
NumberedRow = tuple[int, str]
"""A row as JSON text, with the number of its line or record."""


class Source(Protocol):
    """Rows in an order that stays the same: *name* as the user gives it, and the *title* of its batch.

    *is_kept*: whether a run that was stopped has to go on with the same rows; others are refused.
    """

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def is_kept(self) -> bool: ...

    def rows(self) -> Iterator[NumberedRow]:
        """Yield the rows. Raises UnreadableRow, InvalidRequest, and SourceChanged."""
        ...

    def header(self) -> list[str]:
        """Return the names in the header line of CSV; none for others, and for one that cannot be read."""
        ...


class UnreadableRow(InvalidRequest):
    """A row of the source cannot be sent; the message names its line."""


class SourceChanged(Conflict):
    """The source has other rows than at the start of the run, or of an earlier one; that batch stays OPEN."""


def unreadable(name: str, line: int, why: str) -> UnreadableRow:
    """Return the error of a row of the source *name*."""
    return UnreadableRow(f"{name}, line {line}: {why}{NOTHING_SENT}", field="file")
