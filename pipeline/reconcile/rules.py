"""What can be reconciled: a batch, its group, and the manifest of the group's rows. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from fanin.tracker import GroupId, Mode, checked_batch_id
from pipeline.table_frames.rows import Facts, may_be_gone

NAMED = 5
"""Malformed rows that an error lists."""
LABEL = "fanin.outstanding"
"""The key of the label in the metadata of saved rows."""


@dataclass(frozen=True, slots=True)
class Part:
    """One group of a batch of *total* items: *upto* items, from position *start* on."""

    batch_id: str
    group_id: str
    start: int
    upto: int
    total: int
    page_bits: int

    @property
    def leaves(self) -> range:
        """The numbers of the leaf pages that hold its items."""
        return range(self.start // self.page_bits, (self.start + self.upto - 1) // self.page_bits + 1)


class CannotReconcile(ValueError):
    """Tables, manifest and request contradict each other; the message says how."""


@dataclass(frozen=True, slots=True)
class ReconcileRequest:
    """The batch, the path of its manifest (*source*), and the path for the result (*saved*).

    *group_id*: the group whose items are the rows of the manifest; None if the batch has one group.
    *failed*: find failed items too.
    """

    batch_id: str
    source: str
    saved: str
    group_id: str | None = None
    failed: bool = False

    def __post_init__(self) -> None:
        checked_batch_id(self.batch_id)


@dataclass(frozen=True, slots=True)
class Label:
    """The batch and group of saved rows; *taken_at* (ISO 8601): the time of the tables' state."""

    tenant: str
    batch_id: str
    group_id: str
    page_bits: int
    taken_at: str
    source: str

    @property
    def metadata(self) -> dict[str, str]:
        """Return the metadata of the column *position* of saved rows."""
        return {LABEL: json.dumps(asdict(self))}


def refuse_malformed(rows: Sequence[tuple[str, str]]) -> None:
    """Raise CannotReconcile if any row is malformed: its items would count as outstanding.

    *rows*: (location, problem) of some malformed rows.
    """
    if rows:
        named = "".join(f"\n  {location}: {problem}" for location, problem in rows[:NAMED])
        raise CannotReconcile(f"malformed rows in the tables (at most {NAMED} are listed):{named}")


def batch_of(found: Sequence[Facts], batch_id: str, taken_at: datetime) -> Facts:
    """Return the one row of the batch *found*. Raises CannotReconcile if its pages are not reliable."""
    if len(found) != 1:
        raise CannotReconcile(f"batch {batch_id} has {len(found)} rows in what was read; expected one")
    batch = found[0]
    if batch["mode"] != Mode.EXACT:
        raise CannotReconcile(f"batch {batch_id} is estimated: it counts acks and keeps no items")
    if may_be_gone(batch, taken_at):
        raise CannotReconcile(f"batch {batch_id} is so old that its pages may have been deleted")
    return batch


def part_of(batch: Facts, rows: int, group_id: str | None) -> Part:
    """Return the group whose items are the *rows* of the manifest. Raises CannotReconcile."""
    batch_id, total = batch["batch_id"], batch["total"]
    counts = f"the manifest has {rows} rows, the batch {total} items"
    if group_id is None and (rows != total or not rows):
        raise CannotReconcile(f"{counts}: name the group of the rows with --group")
    named = group_id if group_id is not None else str(GroupId.make(batch["salt"], batch_id, 0, total))
    group = _group(named)
    if group is None or not group.is_of(batch["salt"], batch_id):
        raise CannotReconcile(f"{named} is not a group of batch {batch_id}")
    if group.upto != rows:
        raise CannotReconcile(f"{counts}, the group {group.upto}: this is the manifest of another group")
    return Part(batch_id, named, group.start, group.upto, total, batch["page_bits"])


def _group(text: str) -> GroupId | None:
    try:
        return GroupId.decode(text)
    except ValueError:
        return None
