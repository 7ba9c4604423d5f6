"""What one task does with folded acks: it marks the pages of the tracker, a hundred at a time, at a rate.

All of it is the tracker's own code: read the pages, write each that lacks any, climb, complete. A page that
is written twice, by a task that is run again, is the same page.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from fanin.aws.forking import cache_per_process
from fanin.aws.meter import Meter
from fanin.aws.pacing import each_in_threads
from fanin.errors import NotFound, StoreUnavailable
from fanin.tracker import Ack, Outcome, PageAcked, Tracker, Verdict, Words
from fanin.tracker.recording import OFFERS_A_REQUEST
from pipeline import bits
from pipeline.sinks import ATTEMPTS, Pace, waits
from pipeline.tables import Tables

PAGES_A_CALL = 100
"""Pages that are read together: one request of the store's."""

Row = dict[str, str | int]


class PagesLeft(RuntimeError):
    """The store went on refusing a page. Run the job again; what is marked stays so."""


@dataclass(frozen=True, slots=True)
class Target:
    """Whose pages are marked, in whose name. *rate*: write units a second of one task."""

    tables: Tables
    tenant: str
    caller: str
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class Portion:
    """Pages of one batch."""

    batch_id: str
    pages: dict[int, Words]


def portions(words: Iterable[pa.RecordBatch]) -> Iterator[Portion]:
    """Rows of WORDS in their order, as many of one batch together as one call takes."""
    portion: Portion | None = None
    for batch_id, page, held, failed in (row for batch in words for row in _rows(batch)):
        if portion and (portion.batch_id != batch_id or len(portion.pages) == PAGES_A_CALL):
            yield portion
            portion = None
        portion = portion or Portion(batch_id, {})
        bad = bits.to_mask(failed)
        portion.pages[page] = Words(bits.to_mask(held) & ~bad, bad)
    if portion:
        yield portion


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[str, int, bytes, bytes]]:
    columns = (batch.column(name).to_pylist() for name in ("batch_id", "page", "bits", "failed"))
    return zip(*columns, strict=True)


@dataclass(slots=True)
class Marker:
    """Marks pages for one task, and says what each portion came to."""

    tracker: Tracker
    target: Target
    meter: Meter
    sleep: Callable[[float], None] = time.sleep

    def mark_all(self, found: Iterable[Portion]) -> Iterator[Row]:
        """Rows of MARKED, one a portion; its rate is kept between portions."""
        pace = Pace(self.target.rate, time.monotonic())
        self._spent()
        for portion in found:
            done = self._mark_patiently(portion)
            spent = self._spent()
            yield {**_counted(portion, done), **spent}
            pace = pace.after(spent["write_units"])
            self.sleep(pace.rest(time.monotonic()))

    def _mark_patiently(self, portion: Portion) -> Sequence[PageAcked]:
        """Mark a portion; where the store refuses, page by page, each again after a pause, some times."""
        try:
            return self._mark(portion)
        except StoreUnavailable:
            pages = [Portion(portion.batch_id, {number: words}) for number, words in portion.pages.items()]
            return [done for page in pages for done in self._mark_page(page)]

    def _mark_page(self, page: Portion) -> Sequence[PageAcked]:
        for pause in waits(random.Random()):
            self.sleep(pause)
            try:
                return self._mark(page)
            except StoreUnavailable as error:
                refused = error
        (number,) = page.pages
        raise PagesLeft(
            f"page {number} of batch {page.batch_id} is not marked, after {ATTEMPTS} attempts: {refused};"
            " run the job again, what is marked stays so"
        )

    def _mark(self, portion: Portion) -> Sequence[PageAcked]:
        target = self.target
        try:
            return self.tracker.ack_pages(target.tenant, portion.batch_id, portion.pages, target.caller)
        except NotFound:
            pages = portion.pages.items()
            return [PageAcked(number, {Verdict.NOT_FOUND: words.mask.bit_count()}) for number, words in pages]

    def _spent(self) -> dict[str, int]:
        """Requests since the last look, and write units; a refused write is charged, and reports nothing."""
        requests, refused = self.meter.take("requests"), self.meter.take("refused")
        return {"requests": int(requests), "write_units": int(self.meter.take("write_units") + refused)}


def _counted(portion: Portion, done: Sequence[PageAcked]) -> Row:
    verdicts: Counter[Verdict] = sum((Counter(page.counts) for page in done), Counter())
    return {
        "batch_id": portion.batch_id,
        "pages": len(portion.pages),
        "written": sum(bool(page.written or page.healed) for page in done),
        "fresh": sum(page.written for page in done),
        "failed": sum(page.failed for page in done),
        "healed": sum(page.healed for page in done),
        **{str(verdict): verdicts[verdict] for verdict in Verdict},
    }


def marker(target: Target) -> Marker:
    """The marker of this process's task."""
    return Marker(_tracker(target.tables), target, _meter(target.tables))


def keep_reasons(target: Target, said: Iterable[Row]) -> None:
    """Keep why items failed, rows of REASON; the tracker keeps a bounded number, of those that did fail."""
    acks = [Ack.of(str(row["item_id"]), target.caller, Outcome.FAILURE, str(row["reason"])) for row in said]
    for at in range(0, len(acks), OFFERS_A_REQUEST):
        _tracker(target.tables).keep_reasons(target.tenant, acks[at : at + OFFERS_A_REQUEST])


@cache_per_process
def _tracker(tables: Tables) -> Tracker:
    return Tracker(tables.store, each=each_in_threads)


@cache_per_process
def _meter(tables: Tables) -> Meter:
    return Meter().attach(tables.client)
