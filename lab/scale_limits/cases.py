"""The loads: what production sends at a rate, and with what moves its first bottleneck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from uuid import UUID

from fanin.grouper.rules.model import BundleKey, Lane, TaskKey
from fanin.queue.rules.keys import QueueKey
from fanin.tracker.batch_changes.recording import OFFERS_A_REQUEST
from fanin.tracker.rules.model import BatchKey
from fanin.tracker.rules.page import PAGE_BITS_MAX
from fanin.tracker.rules.tree import Shape
from lab.scale_limits import streams
from lab.scale_limits.keys import Key
from lab.scale_limits.partitions import IN_FLIGHT, Load, Request

TENANT = "111122223333"
SHAPE = Shape(PAGE_BITS_MAX, PAGE_BITS_MAX)
BUNDLE = 100
ENDLESS = 10**9
Sends = Callable[[float], Load]
"""Returns the load of a rate of items a second."""


@dataclass(frozen=True)
class Case:
    """A load, what its rate counts, and the rate that is asked for; *moved*: by what, and then.

    *most*: a rate that no table takes, or that is enough. *in_flight*: items of callers that wait at a time.
    """

    name: str
    unit: str
    sends: Sends
    asked: int
    most: float
    moved: str = ""
    then: Sends | None = None
    in_flight: float = IN_FLIGHT


@cache
def batch(number: int) -> BatchKey:
    """Return the key of a batch."""
    return BatchKey(TENANT, str(UUID(int=number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128, version=4)))


def in_order(rate: float, together: int = 1, parents: int = 1) -> Load:
    """Return acks of one batch in order, so many neighbours in each delivery, with the climbs of full pages.

    *parents*: over how many pages the climbs of neighbouring leaves are spread (a design; today it is 1).
    """

    def load(second: int) -> list[Request]:
        first, last = int(second * rate), int((second + 1) * rate) - 1
        requests = []
        for number, low, high in _pages(first, last):
            writes = high // together - low // together + 1
            requests.append(Request(streams.acked(batch(1), number), writes, high - low + 1))
            if (high + 1) % SHAPE.leaf == 0:
                requests += [Request(each) for each in _climb(number, parents)]
        return requests

    return load


def _climb(number: int, parents: int) -> Iterable[Mapping[Key, float]]:
    """Return the climb of a leaf; neighbours have different parents where there are several in a block."""
    block, offset = divmod(number, SHAPE.fanout * parents)
    sibling = (block * parents + offset % parents) * SHAPE.fanout
    *above, _ = streams.climbed(batch(1), sibling, SHAPE, ENDLESS)
    return [*above, streams.acked(batch(1), number)]


def failures(rate: float, together: int = 1, tries: int = 0, counters: int = 0) -> Load:
    """Return failures of one batch in order; *tries*: writes of a reason for each.

    *counters*: rows that share the count of failures (a design); today it is on the batch's row.
    """

    def load(second: int) -> list[Request]:
        first, last = int(second * rate), int((second + 1) * rate) - 1
        requests = []
        for number, low, high in _pages(first, last):
            writes = high // together - low // together + 1
            units = Counter(streams.failed(batch(1), number, streams.FAILED_PAGE))
            if counters:
                counted = Key("batches", f"{batch(1)}#failed#{number % counters}")
                units = Counter({streams.page(batch(1), 0, number): 4, counted: 2})
            units.update(streams.reason(batch(1), min(together, OFFERS_A_REQUEST) * tries) if tries else {})
            requests.append(Request(units, writes, high - low + 1))
        return requests

    return load


def batches(rate: float, items: int = 100) -> Load:
    """Return so many batches a second, acked at once, from the open to the confirmation of the event."""

    def load(second: int) -> list[Request]:
        numbers = range(int(second * rate), int((second + 1) * rate))
        own, listed = list[Request](), Counter[tuple[tuple[Key, float], ...]]()
        for number in numbers:
            rows, lists = _lifecycle(batch(number + 1), items)
            own.append(Request(rows, 1, 0.5))
            listed.update(lists)
        share = len(own) / 2 / sum(listed.values())
        return own + [Request(dict(units), times, times * share) for units, times in listed.items()]

    return load


@cache
def _lifecycle(
    key: BatchKey, items: int
) -> tuple[Mapping[Key, float], tuple[tuple[tuple[Key, float], ...], ...]]:
    """Return what a batch writes under its own keys, and what each of its requests writes in indexes."""
    requests = list(streams.lifecycle(key, items, SHAPE, items))
    rows: Counter[Key] = Counter()
    for units in requests:
        rows.update({each: int(amount) for each, amount in units.items() if "/" not in each.place})
    lists = (
        tuple((each, amount) for each, amount in units.items() if "/" in each.place) for units in requests
    )
    return rows, tuple(filter(None, lists))


def tasks(rate: float, lanes: int = 1) -> Load:
    """Return tasks of one target, in bundles of 100, from their registration to their outcome."""

    def load(second: int) -> list[Request]:
        first, last = int(second * rate) // BUNDLE, int((second + 1) * rate) // BUNDLE
        return [request for number in range(first, last) for request in _bundle(number, lanes)]

    return load


def _bundle(number: int, lanes: int) -> list[Request]:
    lane = Lane(TENANT, "orders", str(number % lanes))
    keys = [TaskKey(TENANT, f"{number}-{each}") for each in range(BUNDLE)]
    key = BundleKey(TENANT, f"bundle-{number}")
    # Equal writes of tasks are one request with the first task's key: a hundred of them at one key would be
    # hotter than they are, so their units are spread over a hundredth each.
    registered = Request(
        {Key("tasks", str(keys[number % BUNDLE])): 1 / BUNDLE, streams.lane(lane): 1}, BUNDLE, BUNDLE / 2
    )
    claims = [Request(_merged(each), 1, 0) for each in streams.bundled(keys, lane, key)]
    calls = [each for each in streams.called(keys, key) if Key("tasks", str(keys[0])) not in each]
    return [registered, *claims, *(Request(_merged(each), 1, BUNDLE / 2 / len(calls)) for each in calls)]


def _merged(units: Mapping[Key, float]) -> Mapping[Key, float]:
    """Return the units without those of the tasks' own keys, each of which takes four in all."""
    return {key: amount for key, amount in units.items() if key.place != "tasks"}


def jobs(rate: float, parts: int = 8) -> Load:
    """Return jobs of one queue, from their add to their end."""
    queue = QueueKey(TENANT, "thumbnails")

    def load(second: int) -> list[Request]:
        names = (f"job-{number}" for number in range(int(second * rate), int((second + 1) * rate)))
        found = Counter(_whole(streams.job(queue, name, parts)) for name in names)
        return [Request(dict(units), count, count) for units, count in found.items()]

    return load


def _whole(requests: Iterable[Mapping[Key, float]]) -> tuple[tuple[Key, float], ...]:
    return tuple(sum(map(Counter, requests), Counter[Key]()).items())


def _pages(first: int, last: int) -> Iterable[tuple[int, int, int]]:
    """Yield the leaves of the items *first* to *last*: number, first and last item."""
    for number in range(first // SHAPE.leaf, last // SHAPE.leaf + 1):
        yield number, max(first, number * SHAPE.leaf), min(last, (number + 1) * SHAPE.leaf - 1)


ACKS = (1_000_000, 2_000_000)
PARENTS, COUNTERS = 16, 256
CASES = (
    Case(
        "one batch, acked singly in order",
        "acks/s",
        in_order,
        *ACKS,
        f"`warm_throughput`; {PARENTS} parents (a design) add nothing",
        partial(in_order, parents=PARENTS),
    ),
    Case(
        "one batch, in hundreds in order",
        "acks/s",
        partial(in_order, together=100),
        *ACKS,
        f"`warm_throughput`; {PARENTS} parents (a design) add nothing",
        partial(in_order, together=100, parents=PARENTS),
    ),
    Case(
        "one batch, failures singly, with reasons",
        "failures/s",
        partial(failures, tries=streams.REASON_TRIES),
        100_000,
        5_000,
        "no reasons after the sample is full: a design",
        failures,
    ),
    Case(
        "one batch, failures singly",
        "failures/s",
        failures,
        100_000,
        400_000,
        "hundreds through the acks queue",
        partial(failures, together=100),
    ),
    Case(
        "one batch, failures in hundreds",
        "failures/s",
        partial(failures, together=100),
        100_000,
        1_000_000,
        f"failures counted on {COUNTERS} rows: a design",
        partial(failures, together=100, counters=COUNTERS),
    ),
    Case("batches of 100 items, each acked at once", "batches/s", batches, 10_000, 3_000, in_flight=1_000),
    Case(
        "one target of the group-batcher, 1 lane",
        "tasks/s",
        tasks,
        100_000,
        100_000,
        "`shards` 64, the most",
        partial(tasks, lanes=64),
    ),
    Case(
        "a work queue of 8 parts",
        "jobs/s",
        jobs,
        10_000,
        40_000,
        "256 parts, the most",
        partial(jobs, parts=256),
    ),
)
