"""Stores each delivery of a stream as one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fanin.change_archive.changes import Change, Record, change_of, file_of, sequence_of, table_of
from fanin.errors import InvalidRequest


class Files(Protocol):
    """The store of the archive's files."""

    def put(self, name: str, body: bytes) -> None:
        """Store *body* under *name*, replacing an earlier file. Raises StoreUnavailable."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Stores the changes of *tables* (name of a table -> kind of its rows) in *files*."""

    files: Files
    tables: Mapping[str, str]

    def keep(self, records: Sequence[Record]) -> str | None:
        """Store *records*, of one stream and in its order, up to the first malformed one.

        Returns the sequence number of that record, from which the stream is to be retried; None if all are
        stored. Raises InvalidRequest if it has no sequence number, or for a table that is not archived.
        """
        if not records:
            return None
        kind = self._kind(table_of(records[0]))
        kept, malformed = _readable(records, kind)
        if kept:
            self.files.put(*file_of(kind, kept))
        return None if malformed is None else sequence_of(malformed)

    def _kind(self, table: str) -> str:
        if table not in self.tables:
            raise InvalidRequest(f"the table {table} is not archived", field="eventSourceARN")
        return self.tables[table]


def _readable(records: Sequence[Record], kind: str) -> tuple[list[Change], Record | None]:
    """Return the changes before the first malformed record, and that record."""
    changes: list[Change] = []
    for record in records:
        try:
            changes.append(change_of(record, kind))
        except InvalidRequest:
            return changes, record
    return changes, None
