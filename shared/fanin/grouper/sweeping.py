"""The sweeper wakes tasks and bundles whose message was never sent, or is lost: it only resends and seals."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fanin.grouper import rules
from fanin.grouper.messages import BundleMessage, Posting, TaskMessage
from fanin.grouper.model import BundleKey, BundleState, Candidate, Lane
from fanin.grouper.store import Page
from fanin.grouper.world import World

logger = logging.getLogger(__name__)
PAGES_MAX = 1000
LANES_A_REQUEST = 10
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Swept:
    """How many lanes and bundles a sweep had to wake."""

    lanes: int
    bundles: int


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Looks for tasks and bundles that nobody seems to work on. Run every minute.

    *has_time*: whether more may be read; what was read is woken. *trouble*: what could not be read or woken.
    """

    world: World
    has_time: Callable[[], bool] = lambda: True
    trouble: list[Exception] = field(default_factory=list)

    def sweep(self) -> Swept:
        """Wake what is overdue, while there is time; all of it is idempotent.

        Raises what was in the way of any of them, once all others are woken.
        """
        # Bundles first: they are listed by age, while lanes are known once all open tasks are read.
        bundles = self._woken(self._live(), self._wake)
        lanes = self._woken(self._overdue(), self._lead)
        if self.trouble:
            raise self.trouble[0]
        return Swept(lanes, bundles)

    def _woken(self, rows: Iterator[Row], wake: Callable[[Row], int]) -> int:
        """How many of *rows* were woken; one that cannot be is left to the next sweep, and holds up none."""
        woken = 0
        for row in rows:
            try:
                woken += wake(row)
            except Exception as error:
                logger.exception("%s cannot be woken", row)
                self.trouble.append(error)
        return woken

    def _overdue(self) -> Iterator[Sequence[Candidate]]:
        """The oldest overdue tasks of their lanes, as many at once as a request sends."""
        overdue = [task for task in self._oldest().values() if self._is_overdue(task)]
        for first in range(0, len(overdue), LANES_A_REQUEST):
            yield overdue[first : first + LANES_A_REQUEST]

    def _lead(self, tasks: Sequence[Candidate]) -> int:
        """Send the messages of some lanes again."""
        self.world.queue.send([Posting(TaskMessage(task.key, swept=True)) for task in tasks])
        return len(tasks)

    def _oldest(self) -> dict[Lane, Candidate]:
        """The open task of each lane that is due the longest."""
        oldest: dict[Lane, Candidate] = {}
        for task in self._rows(self.world.store.open_tasks):
            first = oldest.setdefault(task.lane, task)
            if task.due_at < first.due_at:
                oldest[task.lane] = task
        return oldest

    def _is_overdue(self, task: Candidate) -> bool:
        patience = self.world.policies.of(task.lane.target).max_delay
        return task.due_at + patience + self.world.timing.overdue <= self.world.now()

    def _live(self) -> Iterator[BundleKey]:
        before = self.world.now() - self.world.timing.overdue
        return self._rows(lambda cursor: self.world.store.live(before, cursor))

    def _wake(self, key: BundleKey) -> bool:
        """Send a bundle's message again, once the bundle itself shows that it is overdue."""
        bundle = self.world.store.bundle(key)
        if bundle is None or not rules.is_overdue(bundle, self.world.timing, self.world.now()):
            return False
        if bundle.state is BundleState.OPEN:
            bundle = self.world.store.seal(bundle)
        self.world.queue.send([Posting(BundleMessage(bundle.key, swept=True))])
        return True

    def _rows(self, read: Callable[[str | None], Page[Row]]) -> Iterator[Row]:
        """The rows of a listing, page by page, as far as it can be read and there is time."""
        cursor: str | None = None
        for _ in range(PAGES_MAX):
            try:
                page = read(cursor)
            except Exception as error:
                logger.exception("a list breaks off")
                self.trouble.append(error)
                return
            for row in page.rows:
                if not self.has_time():
                    return
                yield row
            cursor = page.cursor
            if cursor is None:
                return
