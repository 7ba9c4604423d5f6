"""Searches for an order of a history's operations in which a sequential specification answers as it did.

The method is that of Wing and Gong: take any operation that no other one precedes, apply it to the state,
go on with the rest, and go back where no order is left. As in Lowe's improvement and in porcupine, a pair of
a set of operations and a state is visited once. Some orders need not be tried: a read that may come now
comes now; of operations without an answer that ask the same, the first to begin comes first.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from tests.histories.history import Operation, Step

Way = tuple[Operation, int, Hashable]
VISITS_MAX = 100_000
"""Pairs that a search visits before it gives up."""


class Undecided(Exception):
    """A search gave up."""


@dataclass(frozen=True, slots=True)
class Found:
    """*right*: whether there is an order of all; *order*: that one, or the longest one that was right."""

    right: bool
    order: Sequence[Operation]


def check(
    operations: Sequence[Operation], initial: Hashable, step: Step, reads: Collection[str] = ()
) -> Found:
    """Return an order of all answered operations, and of some of the others; the longest one if none is.

    *reads*: the names of operations that change no state.
    """
    search = Search(sorted(operations, key=lambda each: each.ended), step, reads)
    return search.run(initial)


class Search:
    """One search. A set of operations is a bit mask over *operations*, the first to end first."""

    def __init__(self, operations: Sequence[Operation], step: Step, reads: Collection[str]) -> None:
        self.operations, self.step, self.reads = operations, step, reads
        self.answered = sum(1 << at for at, each in enumerate(operations) if each.is_answered)
        places = {id(each): at for at, each in enumerate(operations)}
        self.before = [sum(1 << places[id(one)] for one in each.after) for each in operations]
        self.twins = twins_of(operations)
        self.visited: set[tuple[int, Hashable]] = set()

    def run(self, initial: Hashable) -> Found:
        """Go down to the first order that has all answered operations."""
        longest: list[Operation] = []
        path: list[Operation] = []
        stack = [self._ways(0, initial)]
        if not self.answered:
            return Found(True, [])
        while stack:
            way = next(stack[-1], None)
            if way is None:
                stack.pop()
                path = path[:-1]
                continue
            operation, applied, state = way
            path.append(operation)
            if not self.answered & ~applied:
                return Found(True, path)
            longest = list(path) if len(path) > len(longest) else longest
            stack.append(self._ways(applied, state))
        return Found(False, longest)

    def _ways(self, applied: int, state: Hashable) -> Iterator[Way]:
        """Yield each operation that may come next, with the set and the state after it, if they are new."""
        ways = [
            (self.operations[at], applied | 1 << at, after)
            for at in self._minimal(applied)
            for after in self.step(state, self.operations[at])
        ]
        reads = [way for way in ways if way[0].is_answered and way[0].name in self.reads]
        for way in reads[:1] or ways:
            if way[2] == state and not way[0].is_answered:
                continue  # as if it had not taken effect
            if way[1:] not in self.visited:
                self.visited.add(way[1:])
                if len(self.visited) > VISITS_MAX:
                    raise Undecided(f"{len(self.operations)} operations, {VISITS_MAX} visits")
                yield way

    def _minimal(self, applied: int) -> list[int]:
        """Return the operations that are not *applied*, and began before any of these ended."""
        remaining = [at for at in range(len(self.operations)) if not applied >> at & 1]
        first_end = min((self.operations[at].ended for at in remaining), default=inf)
        return [
            at
            for at in remaining
            if self.operations[at].began <= first_end and not (self.before[at] | self.twins[at]) & ~applied
        ]


def twins_of(operations: Sequence[Operation]) -> list[int]:
    """Return for each operation without an answer those that ask the same and began before it."""
    lost = [(at, each) for at, each in enumerate(operations) if not each.is_answered]
    found = [0] * len(operations)
    for at, each in lost:
        for other_at, other in lost:
            same = (other.name, other.args, other.after) == (each.name, each.args, each.after)
            if same and (other.began, other_at) < (each.began, at):
                found[at] |= 1 << other_at
    return found
