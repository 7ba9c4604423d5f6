"""What a run is about, as plain values: the batches, who adds and closes, and how deliveries look."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from fanin.tracker import Mode, Retention
from tests.simulating.faults import Fault

TENANT = "t"
ASKED = "enough"
"""The reason of each cancel of a batch."""
POLICIES = ("any", "failed", "never")
"""Which end of a child fails the item of its parent."""
GUARDED_DIGITS = 20
PAGES_A_LEVEL = 1_024


@dataclass(frozen=True, slots=True)
class AddScript:
    """One logical add: *callers* send it under the same key; after *patience* failures it is given up.

    Its first items stand for batches of their own, the *children*, so many to an item as *siblings* says;
    no other caller acks them.
    """

    name: str
    count: int
    keyed: bool = True
    callers: int = 1
    patience: int | None = None
    children: tuple[BatchScript, ...] = ()
    siblings: int = 1

    @property
    def key(self) -> str | None:
        return self.name if self.keyed else None

    @property
    def parents(self) -> int:
        """How many of its items stand for batches."""
        return -(-len(self.children) // self.siblings)


@dataclass(frozen=True, slots=True)
class BatchScript:
    """One batch: opened by several under a key, grown by its adds, closed by the *closers*, named by token.

    Closers wait for the adds to be settled, unless *early*. So many *cancellers* want it to end at once.
    The last of them wants the batches below it to end, too, if it *cascades*. *fails_on*: which end of it
    fails the item of its parent, if it has one.
    """

    name: str
    adds: tuple[AddScript, ...]
    closers: tuple[str, ...]
    open_key: str | None = None
    openers: int = 1
    early: bool = False
    cancellers: int = 0
    cascades: bool = False
    mode: Mode = Mode.EXACT
    retention: Retention = field(default_factory=Retention)
    expected: int | None = None
    deadline: timedelta | None = None
    max_failures: int | None = None
    max_failure_percent: int | None = None
    failure_sample: int | None = None
    min_succeeded: int | None = None
    min_succeeded_percent: int | None = None
    max_items: int | None = None
    fails_on: str = "failed"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run.

    *page_bits* has an entry for each process; *room*: actors at once; *eagerness*: how readily adds and
    closes go before acks; *fold*: messages in a delivery, at most; *longest*: items in a message, at most;
    *copies*: how often a message is delivered, one of these.

    Of the rest a basic scenario has nothing: *tick*: how far the clock goes in a step, at most, at the rate
    *tick_rate*; *fresh_for*: how old a state may be that a process goes by; *failing*: the part of the items
    that fail; *redelivered*: how likely is what failed sent again; *sweepers* and *readers*: how many come
    while the others are at work; *deaf*: the part of the ending events that the bus loses.
    *both*: how many failed items are acked as done as well; *overlap*: how many ranges share an item.
    *reopened*: how often an opener with a key comes again. *struck*: a kind of request, and the one fault
    that befalls it. *skew*: how far the clocks of processes are from the true time, at most; *lag*: how
    likely a row of an index is an old one; *slow*: batches live for months, and TTL deletes their rows;
    *keys*: how many idempotency keys are bound. *edges*: the clock goes from one planned look to the
    next, or just before it, and sweepers come again. *folded*: the part of the messages that are folded to
    masks of pages, each time they are delivered.
    """

    page_bits: tuple[int, ...]
    batches: tuple[BatchScript, ...]
    guarded_digits: int = GUARDED_DIGITS
    pages_a_level: int = PAGES_A_LEVEL
    room: int = 99
    start_rate: float = 1.0
    eagerness: float = 1.0
    fold: int = 1
    junk_rate: float = 0.0
    longest: int = 1
    copies: tuple[int, ...] = (1,)
    is_basic: bool = True
    tick: timedelta = timedelta(0)
    tick_rate: float = 0.0
    fresh_for: timedelta = timedelta(seconds=5)
    estimated_leaf: int = 4
    failing: float = 0.0
    redelivered: float = 1.0
    sweepers: int = 0
    readers: int = 0
    deaf: float = 0.0
    both: float = 0.3
    overlap: float = 0.1
    reopened: int = 0
    struck: tuple[str, Fault] | None = None
    edges: bool = False
    folded: float = 0.0
    skew: timedelta = timedelta(0)
    lag: float = 0.0
    slow: bool = False
    keys: int = 0


def draw(random: Random) -> Scenario:
    """A scenario in which batches are opened, grown, closed and acked, and nothing else."""
    bits = random.choice((2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 7, 13))
    pages = (bits, random.randint(2, 7) if random.random() < 0.1 else bits)
    total = total_of(random, bits)
    batches = [_batch(random, "first", total)]
    if random.random() < 0.25:
        batches.append(_batch(random, "second", random.randint(0, bits + 1)))
    return Scenario(
        page_bits=pages,
        batches=tuple(batches),
        guarded_digits=random.choice((0, 1, GUARDED_DIGITS)),
        pages_a_level=random.choice((1, 2, PAGES_A_LEVEL)),
        room=random.choice((1, 2, 3, 8)),
        start_rate=random.choice((0.2, 0.5, 1.0)),
        eagerness=random.choice((0.03, 0.1, 0.3, 0.8)),
        fold=random.choice((1, 2, 4, 10)),
        junk_rate=random.choice((0.0, 0.0, 0.1, 0.4)),
        longest=random.choice((1, 2, bits, 2 * bits)) if total < 20 else max(bits, total // 8),
        copies=random.choice(((1,), (1, 1, 1, 2), (1, 2, 3))),
    )


def total_of(random: Random, bits: int) -> int:
    """The sizes at which trees change their shape, more often the small ones."""
    edges = (0, 1, 2, bits - 1, bits, bits, bits + 1, 2 * bits - 1, 2 * bits, random.randint(1, 3 * bits))
    squares = (bits * bits - 1, bits * bits, bits * bits + 1)
    cubes = (bits**3, bits**3 + 1) if bits <= 3 else squares
    kind = random.random()
    if kind < 0.6 or (bits > 7 and kind < 0.95):
        return random.choice(edges)
    return random.choice(squares if kind < 0.9 else cubes)


def _batch(random: Random, name: str, total: int) -> BatchScript:
    keyed = random.random() < 0.7
    closers = [f"{name}-closer-{n}" for n in range(random.choice((1, 1, 2, 3)))]
    if random.random() < 0.3:
        closers.append(closers[0])
    return BatchScript(
        name=name,
        adds=adds_of(random, name, total),
        closers=tuple(closers),
        open_key=f"open-{name}" if keyed else None,
        openers=random.choice((1, 2)) if keyed else 1,
        early=random.random() < 0.25,
    )


def adds_of(random: Random, name: str, total: int) -> tuple[AddScript, ...]:
    """*total* in one to four adds; one without a key cannot be sent again, so it is given up at once."""
    cuts = sorted(random.randint(1, total) for _ in range(random.choice((0, 0, 1, 3)))) if total else []
    counts = [end - start for start, end in zip([0, *cuts], [*cuts, total], strict=True) if end > start]
    return tuple(_add(random, f"{name}-add-{n}", count) for n, count in enumerate(counts))


def _add(random: Random, name: str, count: int) -> AddScript:
    kind = random.random()
    if kind < 0.06:
        return AddScript(name, count, keyed=False, patience=1)
    callers = random.choice((1, 1, 2))
    return AddScript(name, count, callers=callers, patience=2 if kind < 0.09 else None)
