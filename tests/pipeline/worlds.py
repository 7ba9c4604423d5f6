"""Batches that production code has brought to each state, in a store that a test may then break."""

from __future__ import annotations

from dataclasses import replace

from fanin.tracker import Ack, Batch, Group, Mode, OpenBatch, Outcome, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page
from pipeline.table_audit.rules import Account, Finding, Stored, audit_batch
from pipeline.table_frames.rows import facts_of, read_row
from tests.pipeline.exporting import page_row

PAGE_BITS = 8
TOTAL = 150
"""Nineteen leaves, the last with six items; three parents, the last with three leaves; a root."""


class World:
    """A batch that production code has filled, in a store that a test may then break."""

    def __init__(self, total: int = TOTAL, **options) -> None:
        self.store = MemoryStore()
        self.tracker = Tracker(self.store, page_bits=PAGE_BITS, pause=lambda _: None)
        self.key = self.tracker.open("tenant", OpenBatch(**options)).key
        added = self.tracker.add("tenant", self.key.batch_id, total) if total else None
        self.group: Group | None = added.groups[0] if added else None

    @property
    def batch(self) -> Batch:
        return self.store.batches[self.key]

    def ack(self, first: int, last: int, outcome: Outcome = Outcome.SUCCESS) -> None:
        self.tracker.ack("tenant", [Ack(self.key.batch_id, self.group.id, first, last, "me", outcome)])

    def close(self) -> World:
        self.tracker.close("tenant", self.key.batch_id, "me")
        return self

    def place(self, level: int, page: int) -> PageKey:
        return PageKey(self.key, level, page)

    def page(self, level: int, page: int) -> Page:
        return self.store.stored_pages[self.place(level, page)]

    def change_page(self, level: int, page: int, **facts) -> None:
        self.store.stored_pages[self.place(level, page)] = replace(self.page(level, page), **facts)

    def change_batch(self, **facts) -> None:
        self.store.batches[self.key] = replace(self.batch, **facts)

    def put(self, level: int, page: int, stored: Page) -> None:
        self.store.stored_pages[self.place(level, page)] = stored

    def lose(self, level: int, page: int) -> None:
        del self.store.stored_pages[self.place(level, page)]

    def audited(self) -> list[Finding]:
        rows = (read_row(page_row(*each))[0] for each in self.store.stored_pages.items())
        stored = sorted(map(Stored.of, rows), key=lambda each: (-each.level, each.number))
        return list(audit_batch(Account.of(facts_of(self.batch)), stored))


def open_batch() -> World:
    return World()


def partly_acked() -> World:
    world = World()
    world.ack(0, 70)
    world.ack(80, 85, Outcome.FAILURE)
    return world


def closed() -> World:
    return partly_acked().close()


def complete() -> World:
    world = closed()
    world.ack(0, TOTAL - 1)
    return world


def complete_with_failures() -> World:
    world = closed()
    world.ack(71, 79, Outcome.FAILURE)
    world.ack(86, TOTAL - 1)
    return world


def ended_by_failures() -> World:
    world = World(max_failures=3)
    world.ack(0, 30)
    world.ack(40, 44, Outcome.FAILURE)
    return world


def ended_by_successes() -> World:
    world = World(min_succeeded=7)
    world.ack(0, 2, Outcome.FAILURE)
    world.ack(0, 9)
    return world


def cancelled() -> World:
    world = partly_acked()
    world.tracker.cancel("tenant", world.key.batch_id)
    return world


def one_leaf_full_before_close() -> World:
    world = World(total=PAGE_BITS)
    world.ack(0, PAGE_BITS - 1)
    return world.close()


def one_level_full_before_close() -> World:
    world = World(total=PAGE_BITS**2)
    world.ack(0, PAGE_BITS**2 - 1)
    return world.close()


def empty() -> World:
    return World(total=0).close()


def estimated() -> World:
    world = World(total=2**21 + 5, mode=Mode.ESTIMATED)
    for first in range(0, 2**20 + 500_000, 500_000):
        world.ack(first, first + 499_999)
    world.ack(2**20 + 600_000, 2**20 + 600_009, Outcome.FAILURE)
    return world.close()


def estimated_complete() -> World:
    world = World(total=20, mode=Mode.ESTIMATED)
    world.ack(0, 19)
    world.ack(0, 3)
    return world.close()


SOUND = [
    *(open_batch, partly_acked, closed, complete, complete_with_failures, ended_by_failures),
    *(ended_by_successes, cancelled, one_leaf_full_before_close, one_level_full_before_close, empty),
    *(estimated, estimated_complete),
]
