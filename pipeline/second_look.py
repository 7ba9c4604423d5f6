"""Looks again at findings that a write on its way may explain: in the tables themselves, consistently.

Neither an export nor a Scan is one instant of all rows. What such a gap explains is gone a moment later; what
is there at each of several looks is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from fanin.tracker.model import Batch, BatchKey, Mode, PageKey
from fanin.tracker.page import Page
from fanin.tracker.store import TrackerStore
from pipeline.audit import Account, Audit, Finding, Rule, Stored
from pipeline.rows import facts_of

LOOKS = 3
SECONDS_BETWEEN = 1.0
LEAVES = 100_000
"""Leaves that are read to count failures again; a batch that has more is not looked at for that."""

OF_THE_BATCH = frozenset({Rule.UNSEALED, Rule.COMPLETE_EARLY, Rule.NOT_COMPLETE, Rule.FAILED_COUNT})


@dataclass(frozen=True, slots=True)
class Placed:
    """A finding and the batch that it is about."""

    key: BatchKey
    finding: Finding


def look_again(
    store: TrackerStore, doubtful: Iterable[Placed], sleep: Callable[[float], None] = time.sleep
) -> dict[Placed, bool | None]:
    """Of each finding whether it is still there; None where that could not be told."""
    verdicts: dict[Placed, bool | None] = dict.fromkeys(doubtful, True)
    for _ in range(LOOKS):
        still_there = [placed for placed, there in verdicts.items() if there]
        if still_there:
            sleep(SECONDS_BETWEEN)
        verdicts |= {placed: _is_there(store, placed) for placed in still_there}
    return verdicts


def _is_there(store: TrackerStore, placed: Placed) -> bool | None:
    batch, finding = store.get(placed.key), placed.finding
    if batch is None or finding.rule is Rule.ORPHAN:
        return batch is None and finding.rule is Rule.ORPHAN and bool(store.pages([_place(placed)]))
    if finding.rule is Rule.FAILED_COUNT:
        return _is_miscounted(store, batch)
    audit = Audit(Account.of(facts_of(batch)))
    look = _of_batch if finding.rule in OF_THE_BATCH else _of_page
    found = look(store, audit, placed)
    return any((f.rule, f.level, f.page) == (finding.rule, finding.level, finding.page) for f in found)


def _place(placed: Placed) -> PageKey:
    return PageKey(placed.key, placed.finding.level or 0, placed.finding.page or 0)


def _of_page(store: TrackerStore, audit: Audit, placed: Placed) -> Iterator[Finding]:
    child = _place(placed)
    above = PageKey(placed.key, child.level + 1, child.number // audit.account.shape.fanout)
    pages = store.pages([child, above])
    stored = Stored.read(child, pages.get(child))
    yield from audit.page(stored)
    yield from audit.link(stored, Stored.read(above, pages.get(above)).page)


def _of_batch(store: TrackerStore, audit: Audit, placed: Placed) -> Iterator[Finding]:
    pages = store.pages([PageKey(placed.key, tail.level, tail.number) for tail in audit.tails])
    return audit.ends({place.level: page for place, page in pages.items()}, failures=None)


def _is_miscounted(store: TrackerStore, batch: Batch) -> bool | None:
    """Whether the leaves hold another number of failures; None where that changes, or takes too long."""
    leaves = -(-batch.total // batch.shape.leaf)
    if batch.mode is not Mode.EXACT or leaves > LEAVES:
        return None
    failures = sum(page.failed.bit_count() for page in _leaves(store, batch.key, leaves).values())
    after = store.get(batch.key)
    return None if after is None or after.failed != batch.failed else failures != batch.failed


def _leaves(store: TrackerStore, key: BatchKey, count: int) -> Mapping[PageKey, Page]:
    return store.pages([PageKey(key, 0, number) for number in range(count)])
