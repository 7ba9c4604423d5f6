"""Rules of reads, of rows that expire and of idempotency keys, each left out once."""

from __future__ import annotations

from datetime import timedelta

from fanin.tracker import reading, service, sweeping
from fanin.tracker.memory import MemoryStore
from fanin.tracker.model import Batch
from fanin.tracker.service import Tracker
from tests.simulating.mutants import Mutant
from tests.simulation import replica

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


READING_MUTANTS = (
    *map(_eventual, CONSISTENT),
    Mutant(
        "a page is kept for the longest life of a batch",
        (Batch, "pages_expire_at", property(lambda self: self.created_at + MONTH)),
    ),
    Mutant("a key is kept for a day", (service, "KEYS_KEPT", timedelta(hours=1))),
    Mutant("a key stands for its first payload", (MemoryStore, "remember", _remember_the_last)),
    Mutant("a key is free once its day is over", (MemoryStore, "remember", _remember_for_ever)),
    Mutant("another payload is refused", (Tracker, "bind_key", _bind_whatever_is_stored)),
    Mutant("no batch has a negative age", (reading, "longest_open", _age_by_any_clock)),
)
