"""Keep a delivery of a stream: one delivery, one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fanin.archive.changes import Change, Record, change_of, file_of, sequence_of, table_of
from fanin.errors import InvalidRequest


class Files(Protocol):
    """Where files are kept."""

    def put(self, name: str, body: bytes) -> None:
        """Keep *body* under *name*, in place of what is there; StoreUnavailable where that is not sure."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Keeps the changes of *tables*, whose kinds are by their names, in *files*."""

    files: Files
    tables: Mapping[str, str]

    def keep(self, records: Sequence[Record]) -> str | None:
        """Keep *records*, of one stream and in its order: all, or those before the first that is malformed.

        Answers the sequence number of that one, where the stream is to go on from; None where all are kept.
        Raises InvalidRequest where not even that can be read, or the table is none of ours.
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
            raise InvalidRequest(f"the table {table} is none of the archive's", field="eventSourceARN")
        return self.tables[table]


def _readable(records: Sequence[Record], kind: str) -> tuple[list[Change], Record | None]:
    """The changes before the first malformed record, and that record."""
    changes: list[Change] = []
    for record in records:
        try:
            changes.append(change_of(record, kind))
        except InvalidRequest:
            return changes, record
    return changes, None
