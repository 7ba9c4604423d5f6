"""Rules of folded acks, each left out once."""

from __future__ import annotations

from dataclasses import replace

from fanin.tracker import PageMasks
from fanin.tracker.climb import BitsSet, Climber
from fanin.tracker.memory import MemoryStore
from fanin.tracker.model import PageKey
from fanin.tracker.page import Page
from fanin.tracker.store import Written
from tests.simulating.mutants import Mutant


def _replace_bits(alive: bool, added: bool):
    """The replacement of a page, with its failures counted in a live batch or in any, added or replaced."""

    def replace_bits(self, key, seen, masks, expires_at):
        page, batch, failed = self.stored_pages.get(key, Page()), self.batches[key.batch], masks.failed
        if page.n != seen.n or page.compacted or (failed and alive and not batch.is_alive):
            return Written(page, applied=False)
        self.batches[key.batch] = replace(batch, failed=batch.failed + failed.bit_count())
        marks = (page.failed if added else seen.failed) | failed
        return self._put(key, replace(page.with_bits(masks), failed=marks))

    return replace_bits


def _mark_without_healing(self, batch, number, masks, caller, seen=None):
    key = PageKey(batch.key, 0, number)
    fresh, page = self._write(batch, key, masks, seen)
    ended = self.climb(batch, key, page, caller)
    return BitsSet(fresh, page, ended or (self.end_by_failures(batch) if masks.failed else None))


def _mark_without_end(self, batch, number, masks, caller, seen=None):
    key = PageKey(batch.key, 0, number)
    fresh, page = self._write(batch, key, masks, seen)
    failed = masks.success & page.failed & ~fresh
    healed = sum(self._heal(batch, key, 1 << bit) for bit in range(99) if failed & 1 << bit)
    return BitsSet(fresh | healed, page, self.climb(batch, key, page, caller), healed)


def _asks_if_anything_is_unset(self, page):
    return bool(page.unset(self.mask) or self.success & page.failed)


_failed_whatever_succeeded = property(lambda self: self.failure)

FOLDING_MUTANTS = (
    Mutant(
        "folded failures are counted in a live batch",
        (MemoryStore, "replace_bits", _replace_bits(False, True)),
        since=2400,
    ),
    Mutant(
        "folded failures leave a healing",
        (MemoryStore, "replace_bits", _replace_bits(True, False)),
        since=17000,
    ),
    Mutant("folded success heals a failure", (Climber, "mark", _mark_without_healing)),
    Mutant("enough folded failures end a batch", (Climber, "mark", _mark_without_end)),
    Mutant("a folded duplicate climbs", (PageMasks, "need_write", _asks_if_anything_is_unset)),
    Mutant(
        "of two folded words success is the last", (PageMasks, "failed", property(lambda self: self.failure))
    ),
)
