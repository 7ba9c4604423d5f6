"""Writes folded acks to the tracker's pages in one task: a hundred pages at a time, at a rate.

The tracker's own code does the work: read the pages, write each that lacks a bit, climb, complete. A task
that is run again writes the same pages again.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fanin.aws.dynamodb.meter import Meter
from fanin.aws.forking import cache_per_process
from fanin.errors import NotFound, StoreUnavailable
from fanin.pacing import ATTEMPTS, Pace, each_in_threads, waits
from fanin.tracker import Ack, BatchKey, Outcome, PageAcked, PageMasks, State, Tracker, Verdict
from fanin.tracker.batch_changes.recording import OFFERS_A_REQUEST
from pipeline.bulk_ack.rows import SUMMED
from pipeline.shared_by_jobs import bitmaps
from pipeline.shared_by_jobs.progress import Count
from pipeline.table_frames.tables import Tables

PAGES_A_CALL = 100
"""Pages that are read together, in one request to the store."""

Row = dict[str, Any]

_STATES = (*State, None)
"""In the order in which a batch has them; None: it is gone."""


class PagesLeft(RuntimeError):
    """The store refused a page on every attempt. Run the job again; pages already written stay written."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of all tasks so far: pages read, and items newly acked."""

    pages: Count
    fresh: Count


@dataclass(frozen=True, slots=True)
class Target:
    """The tables, the tenant and the *caller* of the acks. *rate*: write units a second per task."""

    tables: Tables
    tenant: str
    caller: str
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class Portion:
    """Pages of one batch, with the bits to set."""

    batch_id: str
    pages: dict[int, PageMasks]


def portions(found: Iterable[pa.RecordBatch]) -> Iterator[Portion]:
    """Yield rows of PAGE_MASKS in order, as many of one batch together as one call takes."""
    portion: Portion | None = None
    for batch_id, page, acked, failed in (row for batch in found for row in _rows(batch)):
        if portion and (portion.batch_id != batch_id or len(portion.pages) == PAGES_A_CALL):
            yield portion
            portion = None
        portion = portion or Portion(batch_id, {})
        failures = bitmaps.to_mask(failed)
        portion.pages[page] = PageMasks(bitmaps.to_mask(acked) & ~failures, failures)
    if portion:
        yield portion


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[str, int, bytes, bytes]]:
    columns = (batch.column(name).to_pylist() for name in ("batch_id", "page", "bits", "failed"))
    return zip(*columns, strict=True)


@dataclass(slots=True)
class Marker:
    """Writes pages for one task, and returns the outcome of each portion."""

    tracker: Tracker
    target: Target
    meter: Meter
    sleep: Callable[[float], None] = time.sleep

    def mark_all(self, portions: Iterable[Portion]) -> Iterator[Row]:
        """Yield rows of MARKED, one per portion, pausing between portions to stay within the rate."""
        pace = Pace(self.target.rate, time.monotonic())
        self._spent()
        for portion in portions:
            answers = self._mark_with_retries(portion)
            spent = self._spent()
            yield {**_counted(portion, answers), **spent}
            pace = pace.after(spent["write_units"])
            self.sleep(pace.pause(time.monotonic()))

    def _mark_with_retries(self, portion: Portion) -> Sequence[PageAcked]:
        """Write a portion; if the store refuses it, write it page by page, with pauses and retries."""
        try:
            return self._mark(portion)
        except StoreUnavailable:
            pages = [Portion(portion.batch_id, {number: masks}) for number, masks in portion.pages.items()]
            return [answer for page in pages for answer in self._mark_page(page)]

    def _mark_page(self, page: Portion) -> Sequence[PageAcked]:
        for pause in waits(random.Random()):
            self.sleep(pause)
            try:
                return self._mark(page)
            except StoreUnavailable as error:
                refused = error
        (number,) = page.pages
        raise PagesLeft(
            f"page {number} of batch {page.batch_id} was not written in {ATTEMPTS} attempts: {refused};"
            " run the job again, pages already written stay written"
        )

    def _mark(self, portion: Portion) -> Sequence[PageAcked]:
        target = self.target
        try:
            return self.tracker.ack_pages(target.tenant, portion.batch_id, portion.pages, target.caller)
        except NotFound:
            pages = portion.pages.items()
            return [PageAcked(number, {Verdict.NOT_FOUND: masks.mask.bit_count()}) for number, masks in pages]

    def _spent(self) -> dict[str, int]:
        """Return requests and write units since the last call.

        A refused write is charged one unit, and its answer reports none.
        """
        requests, refused = self.meter.take("requests"), self.meter.take("refused")
        return {"requests": int(requests), "write_units": int(self.meter.take("write_units") + refused)}


def _counted(portion: Portion, answers: Sequence[PageAcked]) -> Row:
    verdicts: Counter[Verdict] = Counter()
    for page in answers:
        verdicts.update(page.counts)
    return {
        "batch_id": portion.batch_id,
        "pages": len(portion.pages),
        "written": sum(bool(page.written or page.healed) for page in answers),
        "fresh": sum(page.written for page in answers),
        "failed": sum(page.failed for page in answers),
        "healed": sum(page.healed for page in answers),
        **{str(verdict): verdicts[verdict] for verdict in Verdict},
    }


def marker(target: Target) -> Marker:
    """Return the marker of this process's task."""
    return Marker(_tracker(target.tables), target, _meter(target.tables))


def mark(found: Iterable[pa.RecordBatch], target: Target, tally: Tally) -> Iterator[Row]:
    """Write each page of *found* (PAGE_MASKS) that lacks any bit; yield rows of MARKED, as one task."""
    for row in marker(target).mark_all(portions(found)):
        tally.pages.add(int(row["pages"]))
        tally.fresh.add(int(row["fresh"]))
        yield row


def outcomes(marked: Iterable[Row], target: Target) -> list[Row]:
    """Return OUTCOMES of one task's rows of MARKED; the states are read after its last write."""
    found = _by_batch(marked).items()
    return [{**_sum(some), "state": _state_of(target, batch_id)} for batch_id, some in found]


def united(outcomes: Iterable[Row]) -> list[Row]:
    """Return OUTCOMES of all tasks by batch: of the states that they read the latest."""
    found = _by_batch(outcomes).values()
    return [{**_sum(some), "state": max((row["state"] for row in some), key=_STATES.index)} for some in found]


def _by_batch(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["batch_id"], []).append(row)
    return found


def _sum(rows: Sequence[Row]) -> Row:
    """Return the sums of rows of one batch."""
    return {"batch_id": rows[0]["batch_id"], **{name: sum(row[name] for row in rows) for name in SUMMED}}


def _state_of(target: Target, batch_id: str) -> str | None:
    """Return the state of the batch now, None if it is gone."""
    stored = target.tables.store.get(BatchKey(target.tenant, batch_id))
    return str(stored.state) if stored else None


def keep_reasons(target: Target, reasons: Iterable[Row]) -> None:
    """Store *reasons*, rows of REASON; the tracker keeps a bounded number, of items that did fail."""
    acks = [
        Ack.of(str(row["item_id"]), target.caller, Outcome.FAILURE, str(row["reason"])) for row in reasons
    ]
    for at in range(0, len(acks), OFFERS_A_REQUEST):
        _tracker(target.tables).keep_reasons(target.tenant, acks[at : at + OFFERS_A_REQUEST])


@cache_per_process
def _tracker(tables: Tables) -> Tracker:
    return Tracker(tables.store, each=each_in_threads)


@cache_per_process
def _meter(tables: Tables) -> Meter:
    return Meter().attach(tables.client)
