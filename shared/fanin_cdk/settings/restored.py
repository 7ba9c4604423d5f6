"""Tables that point-in-time recovery restored, which the stack uses in place of its own.

A restore makes a new table, with a name of its own, that no stack owns. The setting ``restored_tables`` names
them by what they hold: ``batches=ARN``. The ARN is the table's, or that of its stream, which contains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

KINDS = ("batches", "pages", "tasks", "leases", "bundles", "jobs")
OF_GROUPER = frozenset({"tasks", "leases", "bundles"})
OF_QUEUES = frozenset({"jobs"})
"""The tables that a stack has only with the setting of that name."""
STREAMED = ("batches",)
ARCHIVED = ("batches", "pages", "tasks", "bundles", "jobs")
_TABLE = r"arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[A-Za-z0-9_.-]{3,255}"
ENTRY = rf"({'|'.join(KINDS)})={_TABLE}(/stream/[0-9T:.-]+)?"


@dataclass(frozen=True, slots=True)
class RestoredTable:
    """The ARN of a table, and that of its stream, which is empty if it has none."""

    arn: str
    stream_arn: str = ""


def by_kind(entries: Iterable[str]) -> Mapping[str, RestoredTable]:
    """Return the tables of the setting's *entries*, which match ``ENTRY``, by what they hold."""
    found = {}
    for entry in entries:
        kind, _, arn = entry.partition("=")
        table, stream, _ = arn.partition("/stream/")
        found[kind] = RestoredTable(table, arn if stream else "")
    return found


def without_stream(entries: Iterable[str], is_archived: bool, reads_jobs: bool = False) -> list[str]:
    """Return the kinds of *entries* whose stream the stack reads, and that name none.

    *reads_jobs*: whether the events of dead jobs are made from the stream of jobs.
    """
    read = ARCHIVED if is_archived else (*STREAMED, "jobs") if reads_jobs else STREAMED
    return [kind for kind, table in by_kind(entries).items() if kind in read and not table.stream_arn]
