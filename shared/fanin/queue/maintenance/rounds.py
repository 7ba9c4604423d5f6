"""Which queues a run of the scheduled sweep visits, and in what order.

The tenants share the time of a run: the next visit is to a queue of the tenant whose visits have taken the
least of it. So a tenant with many or slow queues delays its own, and the others have their visit in each
minute. Of a tenant's queues, every other visit is to the one that was visited longest ago, so that none waits
for ever, and the visits between are to any, so that a queue whose visits fail does not delay all others, and
runs that overlap visit different ones. A queue that another run has visited since this one began is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import chain
from typing import TypeVar

from fanin.queue.administration.describing import CountedDepth
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.keys import QueueKey
from fanin.queue.rules.model import SECOND_US, Accuracy, Depth

IDLE_SECONDS = 270
"""An idle queue is visited once its last visit is older than this: by every fifth run."""
JUST_VISITED_SECONDS = 30
"""A run skips a queue that was visited within this time before it began: an earlier run is at work."""
DEAD_SECONDS = 270
"""How long a number of dead jobs is kept: to count them takes a request for each part."""
ALIKE = 64
"""Queues within so many places, in the order of their last visits, are visited in any order."""
LOOKED_UP = 16
"""Queues that are read together before their visits."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listed:
    """A queue as a run lists it; *counted*: what its last visit found, None before its first one.

    *config*: None if this release cannot read it.
    """

    queue: QueueKey
    config: QueueConfig | None = None
    counted: CountedDepth | None = None

    @property
    def visited_us(self) -> int:
        """When it was visited last."""
        return self.counted.at_us if self.counted else 0

    def is_due(self, now: int) -> bool:
        """Return whether a run visits it at *now*; one that is being removed at each run."""
        if self.config is None or self.config.removing_us is not None:
            return True
        pause = JUST_VISITED_SECONDS if self.config.idle_us is None else IDLE_SECONDS
        return not _is_within(pause, self.visited_us, now)

    def known_dead(self, now: int) -> int | None:
        """Return the number of its dead jobs if these were counted lately, and exactly."""
        counted = self.counted
        if counted is None or counted.depth.accuracy is not Accuracy.EXACT:
            return None
        return counted.depth.dead if _is_within(DEAD_SECONDS, counted.dead_us, now) else None

    def visited(self, depth: Depth, dead: int | None, now: int) -> CountedDepth:
        """Return what a visit at *now* counted; *dead*: the number of dead jobs if it was known before."""
        return CountedDepth(depth, now, now if dead is None or self.counted is None else self.counted.dead_us)


@dataclass(frozen=True, slots=True)
class Rounds:
    """The visits of one run.

    *look_up*: reads the configs and last visits of queues. *now*: the wall clock, in microseconds;
    *monotonic*: in seconds. *chance*: returns a random number from 0 to 1.
    """

    look_up: Callable[[Sequence[QueueKey]], Iterable[Listed]]
    now: Callable[[], int]
    monotonic: Callable[[], float]
    chance: Callable[[], float]
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def of(self, queues: Iterable[Listed]) -> Iterator[Listed]:
        """Yield those of *queues* that are due; what the caller does with one is its visit."""
        due = [each for each in queues if each.is_due(self.now())]
        before, lines = {each.queue: each.visited_us for each in due}, self._lines(due)
        ready: dict[str, list[Listed]] = {}
        while tenants := lines.keys() | ready.keys():
            tenant = min(tenants, key=self.spent.__getitem__)
            if tenant in ready:
                began = self.monotonic()
                yield _removed_from(ready, tenant, 1)[0]
                self.spent[tenant] += self.monotonic() - began
                continue
            for each in self._looked_up(lines, ready.keys()):
                if each.visited_us == before[each.queue]:
                    ready.setdefault(each.queue.tenant, []).insert(0, each)

    def _looked_up(self, lines: dict[str, list[QueueKey]], ready: Collection[str]) -> Iterable[Listed]:
        """Remove the next queues from *lines* and read them again.

        They are of the tenants whose turn it is, without those in *ready*, whose next queues are read.
        """
        unread = (tenant for tenant in lines if tenant not in ready)
        first = nsmallest(LOOKED_UP, unread, key=self.spent.__getitem__)
        some = [queue for tenant in first for queue in _removed_from(lines, tenant, LOOKED_UP // len(first))]
        return self.look_up(some)

    def _lines(self, queues: Iterable[Listed]) -> dict[str, list[QueueKey]]:
        """Return the queues of each tenant, the last one first."""
        lines: defaultdict[str, list[Listed]] = defaultdict(list)
        for each in sorted(queues, key=lambda each: each.visited_us):
            lines[each.queue.tenant].append(each)
        return {tenant: self._line(mine) for tenant, mine in lines.items()}

    def _line(self, mine: Sequence[Listed]) -> list[QueueKey]:
        """Return the queues of a tenant, *mine* from the one visited longest ago on, the last one first."""
        drawn = {each.queue: self.chance() for each in mine}
        any_order = sorted(drawn, key=lambda queue: drawn[queue])
        ranks = {queue: rank // ALIKE for rank, queue in enumerate(drawn)}
        by_age = sorted(drawn, key=lambda queue: (ranks[queue], self.chance()))
        return list(dict.fromkeys(chain.from_iterable(zip(any_order, by_age, strict=True))))[::-1]


def _removed_from(lines: dict[str, list[T]], tenant: str, most: int) -> list[T]:
    """Remove and return up to *most* of the last ones of a tenant's line, and the line with its first one."""
    line = lines[tenant]
    taken = [line.pop() for _ in range(min(most, len(line)))]
    if not line:
        del lines[tenant]
    return taken


def _is_within(seconds: float, then_us: int, now_us: int) -> bool:
    """Return whether *then* is less than *seconds* ago; a time in the future was written by a wrong clock."""
    return 0 <= now_us - then_us < seconds * SECOND_US
