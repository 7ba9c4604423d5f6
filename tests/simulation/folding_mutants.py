"""Rules of folded acks, each left out once.

That a replacement leaves a healing which came between is for ``tests/contract/tracker/test_pages.py``.
"""

from __future__ import annotations

from dataclasses import replace

from fanin.tracker import PageMasks
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page
from fanin.tracker.store import Written
from fanin.tracker.writing.climb import BitsSet, Climber
from fanin.tracker.writing.recording import Recorder
from tests.simulating.mutants import Mutant

_folded_write = Recorder._folded_write


def _replace_bits_of_any_batch(self, key, seen, masks, expires_at):
    """The replacement of a page, with its failures counted whether the batch is live or not."""
    page, batch = self.stored_pages.get(key, Page()), self.batches[key.batch]
    if page.n != seen.n or page.compacted:
        return Written(page, applied=False)
    self.batches[key.batch] = replace(batch, failed=batch.failed + masks.failed.bit_count())
    return self._put(key, page.with_bits(masks))


def _mark_without_healing(self, batch, number, masks, seen=None):
    return BitsSet(*self._write(batch, PageKey(batch.key, 0, number), masks, seen))


def _folded_failures_end_nothing(self, batch, number, masks, caller, seen):
    return replace(_folded_write(self, batch, number, masks, caller, seen), fails=False)


def _asks_if_anything_is_unset(self, page):
    return bool(page.unset(self.mask) or self.success & page.failed)


_failed_whatever_succeeded = property(lambda self: self.failure)

FOLDING_MUTANTS = (
    Mutant(
        "folded failures are counted in a live batch",
        (MemoryStore, "replace_bits", _replace_bits_of_any_batch),
        since=1400,
    ),
    Mutant("folded success heals a failure", (Climber, "mark", _mark_without_healing)),
    Mutant("enough folded failures end a batch", (Recorder, "_folded_write", _folded_failures_end_nothing)),
    Mutant("a folded duplicate climbs", (PageMasks, "need_write", _asks_if_anything_is_unset)),
    Mutant(
        "of two folded words success is the last", (PageMasks, "failed", property(lambda self: self.failure))
    ),
)
