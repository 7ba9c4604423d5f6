"""The sweeper lends a hand where a message was never sent, or is lost: it only sends again and seals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from fanin.grouper import rules
from fanin.grouper.messages import BundleMessage, Posting, TaskMessage
from fanin.grouper.model import BundleKey, BundleState, Candidate, Lane
from fanin.grouper.store import Page
from fanin.grouper.world import World

PAGES_MAX = 1000
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Swept:
    """How many lanes and bundles a sweep had to wake."""

    lanes: int
    bundles: int


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Looks for tasks and bundles that nobody seems to work on. Run every minute."""

    world: World

    def sweep(self) -> Swept:
        """Wake what is overdue; all of it is idempotent."""
        lanes = [task for task in self._oldest().values() if self._is_overdue(task)]
        self.world.queue.send([Posting(TaskMessage(task.key, swept=True)) for task in lanes])
        woken = [key for key in self._live() if self._wake(key)]
        return Swept(len(lanes), len(woken))

    def _oldest(self) -> dict[Lane, Candidate]:
        """The open task of each lane that is due the longest."""
        oldest: dict[Lane, Candidate] = {}
        for task in _rows(self.world.store.open_tasks):
            first = oldest.setdefault(task.lane, task)
            if task.due_at < first.due_at:
                oldest[task.lane] = task
        return oldest

    def _is_overdue(self, task: Candidate) -> bool:
        patience = self.world.policies.of(task.lane.target).max_delay
        return task.due_at + patience + self.world.timing.overdue <= self.world.now()

    def _live(self) -> Iterator[BundleKey]:
        before = self.world.now() - self.world.timing.overdue
        return _rows(lambda cursor: self.world.store.live(before, cursor))

    def _wake(self, key: BundleKey) -> bool:
        """Send a bundle's message again, once the bundle itself shows that it is overdue."""
        bundle = self.world.store.bundle(key)
        if bundle is None or not rules.is_overdue(bundle, self.world.timing, self.world.now()):
            return False
        if bundle.state is BundleState.OPEN:
            bundle = self.world.store.seal(bundle)
        self.world.queue.send([Posting(BundleMessage(bundle.key, swept=True))])
        return True


def _rows(read: Callable[[str | None], Page[Row]]) -> Iterator[Row]:
    """All rows of a listing, page by page."""
    cursor: str | None = None
    for _ in range(PAGES_MAX):
        page = read(cursor)
        yield from page.rows
        cursor = page.cursor
        if cursor is None:
            return
