"""Rules of folded acks, each left out once.

That a replacement leaves a healing which came between is for ``tests/contract/tracker/test_pages.py``.
"""

from __future__ import annotations

from dataclasses import replace

from fanin.tracker import PageMasks
from fanin.tracker.batch_changes import climb
from fanin.tracker.batch_changes.climb import BitsSet, Climber
from fanin.tracker.batch_changes.recording import Recorder
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page
from fanin.tracker.store import Written
from tests.simulating.mutants import Mutant
from tests.simulation.reading_mutants import Everything

_folded_write, _mark, _mark_parent = Recorder._folded_write, Climber.mark, Climber._mark_parent
_create, _replace = Climber.create, Climber.replace


def _replace_bits_of_any_batch(self, key, seen, masks, expires_at, fills=False, inner=False):
    """The replacement of a page, with its failures counted whether the batch is live or not."""
    page, batch = self.stored_pages.get(key, Page()), self.batches[key.batch]
    if page.n != seen.n or page.compacted:
        return Written(page, applied=False)
    self.batches[key.batch] = replace(batch, failed=batch.failed + masks.failed.bit_count())
    return self._put(key, page.replaced(masks, fills))


def _replace_pages(wants_count, wants_live):
    """The replacement of several pages without one of its conditions."""

    def replace_pages(self, leaves, expires_at):
        pages = [self.stored_pages.get(leaf.key, Page()) for leaf in leaves]
        batch = self.batches[leaves[0].key.batch]
        moved = any(page.n != leaf.seen.n or page.compacted for page, leaf in zip(pages, leaves, strict=True))
        if (wants_count and moved) or (wants_live and not batch.is_alive):
            return False
        failures = sum(leaf.masks.failed.bit_count() for leaf in leaves)
        self.batches[batch.key] = replace(batch, failed=batch.failed + failures)
        for page, leaf in zip(pages, leaves, strict=True):
            self._put(leaf.key, page.replaced(leaf.masks, leaf.fills))
        return True

    return replace_pages


def _counted_are_not_full(self, batch, leaves):
    found = _replace(self, batch, leaves)
    return {number: replace(done, page=replace(done.page, n=0)) for number, done in found.items()}


def _mark_without_healing(self, batch, number, masks, seen=None):
    return BitsSet(*self._write(batch, PageKey(batch.key, 0, number), masks, seen))


def _folded_failures_end_nothing(self, batch, number, masks, caller, seen):
    return replace(_folded_write(self, batch, number, masks, caller, seen), fails=False)


def _climb_if_written(self, batch, number, masks, seen=None):
    marked = _mark(self, batch, number, masks, seen)
    return marked if marked.fresh or seen is None else replace(marked, page=replace(marked.page, n=0))


def _climb_unless_compacted(self, batch, number, masks, seen=None):
    marked = _mark(self, batch, number, masks, seen)
    return replace(marked, page=replace(marked.page, n=0)) if seen and seen.compacted else marked


def _mark_one(self, batch, full, caller):
    """Of full pages that have one parent, one is marked in it."""
    return _mark_parent(self, batch, dict(list(full.items())[:1]), caller)


def _over_what_is_stored(self, pages, expires_at):
    for key, page in pages.items():
        self._put(key, page, expires_at)
    return pages.keys()


def _create_then_prepare(self, batch, masks):
    created = _create(replace(self, prepared=Everything()), batch, masks)
    for number in masks:
        self._prepare(batch, number, failing=False)
    return created


def _created_are_not_full(self, batch, masks):
    found = _create(self, batch, masks)
    return {number: replace(done, page=replace(done.page, n=0)) for number, done in found.items()}


_failed_whatever_succeeded = property(lambda self: self.failure)

FOLDING_MUTANTS = (
    Mutant(
        "folded failures are counted in a live batch",
        (MemoryStore, "replace_bits", _replace_bits_of_any_batch),
        since=1400,
    ),
    Mutant(
        "folded failures of several pages are counted in a live batch",
        (MemoryStore, "replace_pages", _replace_pages(True, False)),
    ),
    Mutant(
        "a replacement of several pages wants the counts it saw",
        (MemoryStore, "replace_pages", _replace_pages(False, True)),
    ),
    Mutant("a page that is counted with others climbs", (Climber, "replace", _counted_are_not_full)),
    Mutant("folded success heals a failure", (Climber, "mark", _mark_without_healing)),
    Mutant("enough folded failures end a batch", (Recorder, "_folded_write", _folded_failures_end_nothing)),
    Mutant("a folded duplicate climbs", (Climber, "mark", _climb_if_written)),
    Mutant("a folded duplicate of a compacted page climbs", (Climber, "mark", _climb_unless_compacted)),
    Mutant("a created page replaces none", (MemoryStore, "create_pages", _over_what_is_stored)),
    Mutant(
        "a page above is stored before what is created below it", (Climber, "create", _create_then_prepare)
    ),
    Mutant("a created page climbs", (Climber, "create", _created_are_not_full)),
    Mutant("all full pages of a parent are marked", (Climber, "_mark_parent", _mark_one)),
    Mutant("the last page of a level is returned", (climb, "is_inner", lambda batch, key: True)),
    Mutant("only a full page is filled", (climb, "_fills", lambda batch, key, seen, masks: True)),
    Mutant(
        "of two folded outcomes success is the last",
        (PageMasks, "failed", property(lambda self: self.failure)),
    ),
)
