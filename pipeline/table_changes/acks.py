"""The acks in the archive's lines, as an ack log has them. Pure.

A change of a page acks the items whose bits it sets; that a failure heals is a success. A row of a sample
has why an item failed. Bits are only set, and in a log a success beats a failure, so lines may be in any
order, and repeated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from fanin.tracker import BatchKey, Outcome, Sample
from fanin.tracker.dynamodb.items import key_of, sample_of
from fanin.tracker.reads.walking import runs
from pipeline.table_changes.acked import FAILURE, page_change_of
from pipeline.table_changes.records import Change, MalformedLine, change_of

PAGES, BATCHES = "pages", "batches"
_TABLE = "table="


class PageAck(NamedTuple):
    """The items *first* to *last* of a page of a batch, by their numbers in the page, and their outcome."""

    batch_id: str
    page: int
    first: int
    last: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class ArchivedAcks:
    """Acks of items; the *reasons* of failures, by their item ids; and the *lines* that are no changes.

    Of acks that are only counted, the page's first item stands for all: ``bulk_ack`` refuses it.
    """

    acks: list[PageAck] = field(default_factory=list)
    reasons: list[Sample] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def kind_of(path: str) -> str | None:
    """Return the kind of table whose changes the file at *path* has; None if it is not of the archive."""
    folders = PurePosixPath(path).parts[:-1]
    return next((name.removeprefix(_TABLE) for name in folders if name.startswith(_TABLE)), None)


def acks_of(lines: Iterable[bytes], kind: str, tenant: str) -> ArchivedAcks:
    """Return the acks of *tenant* in *lines*, of changes of a *kind* of table."""
    found = ArchivedAcks()
    for line in lines:
        try:
            if kind == PAGES:
                found.acks.extend(_page_acks(change_of(line), tenant))
            elif kind == BATCHES:
                found.reasons.extend(_reasons(change_of(line), tenant))
        except MalformedLine:
            found.lines.append(line.decode("utf-8", "replace").rstrip("\n"))
    return found


def _page_acks(change: Change, tenant: str) -> Iterable[PageAck]:
    page = page_change_of(change)
    if page is None or page.tenant != tenant:
        return
    for what, mask in page.masks:
        outcome = Outcome.FAILURE if what == FAILURE else Outcome.SUCCESS
        for first, last in runs(mask):
            yield PageAck(page.batch_id, page.page, first, last, outcome)
    if page.counted:
        yield PageAck(page.batch_id, page.page, 0, 0, Outcome.SUCCESS)


def _reasons(change: Change, tenant: str) -> Iterable[Sample]:
    try:
        key: BatchKey = key_of(change.keys["pk"]["S"])
        is_sample = change.keys["sk"]["S"].startswith("sample#")
        sample = sample_of(dict(change.new)) if is_sample and change.new else None
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise MalformedLine(f"its image is no row of a batch: {error}") from error
    if sample and key.tenant == tenant:
        yield sample
