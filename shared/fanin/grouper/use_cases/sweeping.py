"""Sends the messages of overdue tasks and bundles again, and seals bundles that were left open."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fanin.grouper.rules import protocol as rules
from fanin.grouper.rules.messages import BundleMessage, Posting, TaskMessage
from fanin.grouper.rules.model import BundleKey, BundleState, Candidate, Lane
from fanin.grouper.store import Page
from fanin.grouper.world import World

logger = logging.getLogger(__name__)
PAGES_MAX = 1000
LANES_A_REQUEST = 10
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Swept:
    """The number of lanes and bundles whose message a sweep sent again."""

    lanes: int
    bundles: int


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Finds overdue tasks and bundles and sends their messages again. Run it every minute.

    *has_time*: whether more rows may be read; messages of rows already read are sent regardless. *errors*: of
    rows that could not be read or whose message could not be sent.
    """

    world: World
    has_time: Callable[[], bool] = lambda: True
    errors: list[Exception] = field(default_factory=list)

    def sweep(self) -> Swept:
        """Send the messages of overdue tasks and bundles again, while there is time. Safe to repeat.

        Raises the first error after all other rows were processed.
        """
        # Bundles first: they are listed by age, but lanes are known only once all open tasks are read.
        bundles = self._woken(self._live(), self._wake)
        lanes = self._woken(self._overdue(), self._lead)
        if self.errors:
            raise self.errors[0]
        return Swept(lanes, bundles)

    def _woken(self, rows: Iterator[Row], wake: Callable[[Row], int]) -> int:
        """Wake each of *rows* and return how many were; an error leaves its row to the next sweep."""
        woken = 0
        for row in rows:
            try:
                woken += wake(row)
            except Exception as error:
                logger.exception("cannot send the message of %s again; the next sweep tries it", row)
                self.errors.append(error)
        return woken

    def _overdue(self) -> Iterator[Sequence[Candidate]]:
        """Yield the oldest overdue task of each lane, as many at once as one request sends."""
        overdue = [task for task in self._oldest().values() if self._is_overdue(task)]
        for first in range(0, len(overdue), LANES_A_REQUEST):
            yield overdue[first : first + LANES_A_REQUEST]

    def _lead(self, tasks: Sequence[Candidate]) -> int:
        """Send the messages of *tasks* again and return their number."""
        self.world.queue.send([Posting(TaskMessage.of(task, swept=True)) for task in tasks])
        return len(tasks)

    def _oldest(self) -> dict[Lane, Candidate]:
        """Return the open task of each lane that is due the longest."""
        oldest: dict[Lane, Candidate] = {}
        for task in self._rows(self.world.store.open_tasks):
            first = oldest.setdefault(task.lane, task)
            if task.due_at < first.due_at:
                oldest[task.lane] = task
        return oldest

    def _is_overdue(self, task: Candidate) -> bool:
        policy = self.world.policies.of(task.lane.target)
        return task.due_at + policy.max_delay + policy.overdue <= self.world.now()

    def _live(self) -> Iterator[BundleKey]:
        before = self.world.now() - self.world.policies.soonest_overdue
        return self._rows(lambda cursor: self.world.store.live(before, cursor))

    def _wake(self, key: BundleKey) -> bool:
        """Send a bundle's message again if a consistent read shows that it is overdue.

        Seals the bundle first if it is OPEN. Returns whether a message was sent.
        """
        bundle = self.world.store.bundle(key)
        if bundle is None:
            return False
        policy = self.world.policies.of(bundle.lane.target)
        if not rules.is_overdue(bundle, policy, self.world.now()):
            return False
        if bundle.state is BundleState.OPEN:
            bundle = self.world.store.seal(bundle)
        self.world.queue.send([Posting(BundleMessage.of(bundle, swept=True))])
        return True

    def _rows(self, read: Callable[[str | None], Page[Row]]) -> Iterator[Row]:
        """Yield the rows of a listing until its end, an error or the end of the time."""
        cursor: str | None = None
        for _ in range(PAGES_MAX):
            try:
                page = read(cursor)
            except Exception as error:
                logger.exception("cannot read the next page of a list; the next sweep begins anew")
                self.errors.append(error)
                return
            for row in page.rows:
                if not self.has_time():
                    return
                yield row
            cursor = page.cursor
            if cursor is None:
                return
