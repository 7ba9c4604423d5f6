"""The ways to ack, and the deliveries of each: the same items in the order in which consumers get them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

IN_ORDER, SHUFFLED, ANY = "in order", "shuffled within 2,000", "random"
WINDOW = 2_000
"""By how many items a shuffled one is late, at most."""
TABLES, QUEUE, SPARK = "by consumers at the tables", "through the acks queue", "from Spark"


@dataclass(frozen=True, slots=True)
class Way:
    """*together*: messages of a delivery, each with *chunk* neighbours; *consumers*: deliveries at a time."""

    together: int
    order: str = IN_ORDER
    consumers: int = 32
    chunk: int = 1
    through: str = TABLES

    @property
    def name(self) -> str:
        """What the way is called in a table."""
        if self.through == SPARK:
            return "from Spark, folded logs"
        if self.chunk > 1:
            what = f"chunks of {self.chunk}, {'one' if self.together == 1 else self.together} a delivery"
        else:
            what = "singly" if self.together == 1 else f"deliveries of {self.together:,}"
        what = f"{self.through}, {what}" if self.through == QUEUE else what
        if self.together * self.chunk > 1:
            return f"{what}, {self.order}"
        return f"{what}, {self.consumers:,} consumer{'s' if self.consumers > 1 else ''}"


WAYS = (
    *(Way(1, consumers=consumers) for consumers in (1, 32, 1_000)),
    *(Way(together, order) for together in (10, 100, 1_000, 10_000) for order in (IN_ORDER, SHUFFLED, ANY)),
    *(Way(100, order, through=QUEUE) for order in (IN_ORDER, SHUFFLED)),
    *(
        Way(together, order, chunk=chunk)
        for chunk in (64, 256)
        for together, order in ((1, IN_ORDER), (10, IN_ORDER), (10, SHUFFLED))
    ),
    Way(100, through=SPARK),
)


def deliveries(way: Way, count: int, random: Random) -> Iterator[list[int]]:
    """Yield the messages of each delivery, as their numbers: *i* has the items from *i* x chunk on."""
    order = ordered(-(-count // way.chunk), way.order, max(1, WINDOW // way.chunk), random)
    while delivery := list(islice(order, way.together)):
        yield delivery


def ordered(count: int, order: str, window: int, random: Random) -> Iterator[int]:
    """Yield the numbers below *count* in an order; shuffled, each is late by less than *window* numbers."""
    if order == ANY:
        return iter(random.sample(range(count), count))
    if order == IN_ORDER:
        return iter(range(count))
    late = [number + random.uniform(0, window) for number in range(count)]
    return iter(sorted(range(count), key=late.__getitem__))
