"""Runs a way: consumers that work at a time, in virtual time, so that their requests meet each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

from greenlet import getcurrent, greenlet

from fanin.client.consuming.answering import Named, answers_of
from fanin.client.transports.direct_acks import DirectAcks
from fanin.pacing import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS
from fanin.tracker import Ack, OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import PAGE_BITS_MAX, PageMasks, mask_of
from lab.ways_to_ack.counted import CountedStore, Counts, longest_row
from lab.ways_to_ack.ways import SPARK, Way, deliveries

TENANT = "111122223333"
SEED = 17
SECONDS_A_REQUEST = 0.008
"""Assumed of a request, as in docs/cost.md, give or take a half."""
VISIBILITY_SECONDS = 30
"""After so long a message returns that was not acked, because too many writers met on a page."""
RATE = 10_000
"""Items that all consumers together work on in a second, unless their requests take longer."""


@dataclass
class Measured:
    """A way, its *items*, what acking them came to, and the *deliveries* that they took in *seconds*.

    *returned*: messages that came again, because too many requests met on a page.
    """

    way: Way
    items: int
    counts: Counts
    deliveries: int
    seconds: float
    returned: int = 0


@dataclass
class Site:
    """A batch of *items* in memory, and consumers in virtual time: each waits for one request at a time."""

    items: int
    consumers: int
    rate: float = RATE
    random: Random = field(default_factory=lambda: Random(SEED))
    time: float = 0
    returned: int = 0

    def __post_init__(self) -> None:
        self._waiting: list[tuple[float, int, greenlet]] = []
        self._numbers = count()
        self.store = CountedStore(MemoryStore(), self.request)
        self.begun = datetime.now(UTC)
        setup = self.tracker()
        self.batch = setup.open(TENANT, OpenBatch())
        self.group = setup.add(TENANT, self.batch.batch_id, self.items).groups[0].id
        longest_row(PageKey(self.batch.key, 0, 10**6))
        self.store.counts = Counts()

    def now(self) -> datetime:
        """Return the virtual time."""
        return self.begun + timedelta(seconds=self.time)

    def request(self) -> None:
        """Let a request take its time, in which other consumers go on."""
        self.wait(SECONDS_A_REQUEST * self.random.uniform(0.5, 1.5))

    def work(self, items: int) -> None:
        """Let a consumer work on *items*, before it acks them."""
        self.wait(self.consumers * items / self.rate * self.random.uniform(0.5, 1.5))

    def pause(self, attempt: int) -> None:
        """Wait before a retry, as long as ``fanin.pacing.pause`` does."""
        self.wait(self.random.uniform(0, min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**attempt)))

    def wait(self, seconds: float) -> None:
        """Let a consumer wait, while others go on."""
        parent = getcurrent().parent
        if parent is not None:
            heappush(self._waiting, (self.time + seconds, next(self._numbers), getcurrent()))
            parent.switch()

    def tracker(self) -> Tracker:
        """Return the tracker of a consumer, which caches the batch for itself."""
        return Tracker(self.store, now=self.now, pause=self.pause)

    def run(self, work: Iterator[Any], send: Callable[[], Callable[[Any], None]]) -> int:
        """Let the consumers take *work* until it is done; return how much there was."""
        taken = count()

        def consume() -> None:
            sender = send()
            for each in work:
                next(taken)
                sender(each)

        for _ in range(self.consumers):
            greenlet(consume).switch()
        while self._waiting:
            self.time, _, running = heappop(self._waiting)
            running.switch()
        return next(taken)


def measure(way: Way, items: int, rate: float = RATE) -> Measured:
    """Ack *items* of a new batch in a *way*; raise AssertionError unless each is acked once."""
    site = Site(items, way.consumers, rate)
    send = (lambda: _pages(site)) if way.through == SPARK else (lambda: _messages(site, way))
    work = _portions(items) if way.through == SPARK else deliveries(way, items, Random(SEED))
    taken = site.run(work, send)
    assert not site.tracker().outstanding(site.batch).ranges, "items are left"
    return Measured(way, items, site.store.counts, taken, site.time, site.returned)


def _messages(site: Site, way: Way) -> Any:
    """Return what acks a delivery, as a consumer of the library does."""
    acks = DirectAcks(site.tracker(), TENANT)

    def send(delivery: Sequence[int]) -> None:
        site.work(len(delivery) * way.chunk)
        named: list[Named] = [({"messageId": str(number)}, _ack(site, way, number)) for number in delivery]
        while named:
            named = [(each.record, each.ack) for each in answers_of(acks.ack, named) if each.counts is None]
            site.returned += len(named)
            site.wait(VISIBILITY_SECONDS if named else 0)

    return send


def _ack(site: Site, way: Way, number: int) -> Ack:
    first = number * way.chunk
    last = min(first + way.chunk, site.items) - 1
    return Ack(site.batch.batch_id, site.group, first, last, str(number))


def _portions(items: int) -> Iterator[dict[int, PageMasks]]:
    """Yield the pages of *items*, a hundred at a time, as the tasks of bulk_ack write them."""
    pages = -(-items // PAGE_BITS_MAX)
    for first in range(0, pages, 100):
        numbers = range(first, min(first + 100, pages))
        yield {number: PageMasks(mask_of(0, _bits(items, number) - 1)) for number in numbers}


def _bits(items: int, number: int) -> int:
    return min(PAGE_BITS_MAX, items - number * PAGE_BITS_MAX)


def _pages(site: Site) -> Any:
    tracker = site.tracker()

    def send(pages: dict[int, PageMasks]) -> None:
        tracker.ack_pages(TENANT, site.batch.batch_id, pages, "spark")

    return send
