"""Rules of reads, of rows that expire and of idempotency keys, each left out once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from fanin.pacing import each_in_turn
from fanin.tracker import service
from fanin.tracker.batch_changes import sweeping
from fanin.tracker.batch_changes.climb import Climber
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads import reading
from fanin.tracker.reads.listing import listing, newest
from fanin.tracker.reads.mapping import Walk, mapped
from fanin.tracker.reads.window import window
from fanin.tracker.rules import acking
from fanin.tracker.rules.model import Batch, PageKey
from fanin.tracker.service import Tracker
from tests.simulating.mutants import Mutant
from tests.simulation import replica

_mark, _prepare, _chosen = Climber.mark, Climber._prepare, Walk._chosen
MONTH = timedelta(days=30)
CONSISTENT = ("get", "pages", "receipt", "groups")


def _eventual(name: str) -> Mutant:
    return Mutant(f"{name} is a consistent read", (replica, "EVENTUAL", replica.EVENTUAL | {name}))


def _remember_the_last(self, tenant, route, key, fingerprint, at, expires_at):
    self.payloads[tenant, route, key] = fingerprint
    return fingerprint


def _remember_for_ever(self, tenant, route, key, fingerprint, at, expires_at):
    return self.payloads.setdefault((tenant, route, key), fingerprint)


def _bind_whatever_is_stored(self, tenant, route, key, payload):
    self.store.remember(tenant, route, key, payload, self.now(), self.now() + service.KEYS_KEPT)


def _age_by_any_clock(store, now):
    opened = [sweeping._oldest(store, shard) for shard in range(sweeping.SHARDS)]
    return now - min((at for at in opened if at is not None), default=now)


def _mark_and_look_around(self, batch, number, masks, seen=None):
    marked = _mark(self, batch, number, masks, seen)
    leaves = -(-batch.total // batch.shape.leaf)
    self.store.pages([PageKey(batch.key, 0, leaf) for leaf in range(leaves)])
    return marked


class Everything(set):
    def __contains__(self, key):
        return True


def _mark_then_prepare(self, batch, number, masks, seen=None):
    marked = _mark(replace(self, prepared=Everything()), batch, number, masks, seen)
    self._prepare(batch, number, bool(masks.failed))
    return marked


def _prepare_unmarked(self, batch, leaf, failing):
    _prepare(self, batch, leaf, False)


def _chosen_of_two(self, level, below):
    """As if there were more pages than may be read, where there are two."""
    most, spare = self.most, self.spare
    self.most, self.spare = 1, 1
    chosen = _chosen(self, level, below)
    self.most, self.spare = most, spare
    return chosen


def _listed_in_order_of_opening(store, tenant, query, now, each=each_in_turn):
    page = listing(store, tenant, query, now, each)
    return replace(page, batches=page.batches[::-1])


def _listed_though_expired(store, tenant, query, now, each=each_in_turn):
    return newest(store, tenant, query, each)


def _window_of_acks(store, batch, group_id, first, last):
    return replace(window(store, batch, group_id, first, last), failed=0)


def _mapped_without_failures(store, batch, *window):
    found = mapped(store, batch, *window)
    return replace(found, failed=(False,) * len(found.failed))


READING_MUTANTS = (
    Mutant("an ack reads no other page", (Climber, "mark", _mark_and_look_around)),
    Mutant("a full page loses its digits", (MemoryStore, "compact", lambda self, key, count: None)),
    Mutant("a list is newest first", (reading, "listing", _listed_in_order_of_opening)),
    Mutant("a list leaves out what has expired", (reading, "listing", _listed_though_expired)),
    Mutant("a window shows failures", (reading, "window", _window_of_acks)),
    Mutant("a map shows failures", (reading, "mapped", _mapped_without_failures)),
    Mutant("an ack of an expired batch is refused", (acking, "is_expired", lambda batch, now: False)),
    Mutant("few pages are all read", (Walk, "_chosen", _chosen_of_two)),
    Mutant(
        "a page above the leaves is stored before what lies below it", (Climber, "mark", _mark_then_prepare)
    ),
    Mutant("what lies below a page is marked before it fails", (Climber, "_prepare", _prepare_unmarked)),
    *map(_eventual, CONSISTENT),
    Mutant(
        "a page is kept as long as its batch can be",
        (Batch, "pages_expire_at", property(lambda self: self.created_at + MONTH)),
    ),
    Mutant("a key is kept for a day", (service, "KEYS_KEPT", timedelta(hours=1))),
    Mutant("a key stands for its first payload", (MemoryStore, "remember", _remember_the_last)),
    Mutant("a key is free once its day is over", (MemoryStore, "remember", _remember_for_ever)),
    Mutant("another payload is refused", (Tracker, "bind_key", _bind_whatever_is_stored)),
    Mutant("no batch has a negative age", (reading, "longest_open", _age_by_any_clock)),
)
