"""Rechecks findings that a write in progress may explain, by consistent reads of the live tables.

Neither an export nor a Scan shows all rows at one instant. A finding that such a gap explains is gone a
moment later; one that is there at each of several reads is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from fanin.tracker.rules.model import Batch, BatchKey, PageKey
from fanin.tracker.rules.options import Mode
from fanin.tracker.rules.page import Page
from fanin.tracker.store import TrackerStore
from pipeline.table_audit.rules import Account, Audit, Finding, Rule, Stored
from pipeline.table_frames.rows import facts_of

RECHECKS = 3
SECONDS_BETWEEN = 1.0
LEAVES = 100_000
"""The most leaves that are read to count failures again; larger batches are not recounted."""

OF_THE_BATCH = frozenset({Rule.UNSEALED, Rule.COMPLETE_EARLY, Rule.NOT_COMPLETE, Rule.FAILED_COUNT})


@dataclass(frozen=True, slots=True)
class Located:
    """A finding and its batch."""

    key: BatchKey
    finding: Finding


def recheck_findings(
    store: TrackerStore, doubtful: Iterable[Located], sleep: Callable[[float], None] = time.sleep
) -> dict[Located, bool | None]:
    """Return for each finding whether it is still there, or None if that is unknown."""
    results: dict[Located, bool | None] = dict.fromkeys(doubtful, True)
    for _ in range(RECHECKS):
        still_there = [located for located, there in results.items() if there]
        if still_there:
            sleep(SECONDS_BETWEEN)
        results |= {located: _is_there(store, located) for located in still_there}
    return results


def _is_there(store: TrackerStore, located: Located) -> bool | None:
    batch, finding = store.get(located.key), located.finding
    if batch is None or finding.rule is Rule.ORPHAN:
        return batch is None and finding.rule is Rule.ORPHAN and bool(store.pages([_page_key(located)]))
    if finding.rule is Rule.FAILED_COUNT:
        return _is_miscounted(store, batch)
    audit = Audit(Account.of(facts_of(batch)))
    read = _of_batch if finding.rule in OF_THE_BATCH else _of_page
    found = read(store, audit, located)
    return any((f.rule, f.level, f.page) == (finding.rule, finding.level, finding.page) for f in found)


def _page_key(located: Located) -> PageKey:
    return PageKey(located.key, located.finding.level or 0, located.finding.page or 0)


def _of_page(store: TrackerStore, audit: Audit, located: Located) -> Iterator[Finding]:
    child = _page_key(located)
    above = PageKey(located.key, child.level + 1, child.number // audit.account.shape.fanout)
    pages = store.pages([child, above])
    stored = Stored.read(child, pages.get(child))
    yield from audit.page(stored)
    yield from audit.link(stored, Stored.read(above, pages.get(above)).page)


def _of_batch(store: TrackerStore, audit: Audit, located: Located) -> Iterator[Finding]:
    pages = store.pages([PageKey(located.key, tail.level, tail.number) for tail in audit.tails])
    return audit.ends({key.level: page for key, page in pages.items()}, failures=None)


def _is_miscounted(store: TrackerStore, batch: Batch) -> bool | None:
    """Return whether the leaves hold another number of failures; None if it changes or takes too long."""
    leaves = -(-batch.total // batch.shape.leaf)
    if batch.mode is not Mode.EXACT or leaves > LEAVES:
        return None
    failures = sum(page.failed.bit_count() for page in _leaves(store, batch.key, leaves).values())
    after = store.get(batch.key)
    return None if after is None or after.failed != batch.failed else failures != batch.failed


def _leaves(store: TrackerStore, key: BatchKey, count: int) -> Mapping[PageKey, Page]:
    return store.pages([PageKey(key, 0, number) for number in range(count)])
