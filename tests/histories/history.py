"""A history: the operations on one object, with the moments at which each began and ended."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Any


class Unknown:
    """The answer of an operation that got none: it takes effect at any later moment, or never."""

    def __repr__(self) -> str:
        return "no answer"


UNKNOWN = Unknown()


@dataclass(eq=False, slots=True)
class Operation:
    """What *client* asked for. *began* and *ended*: moments; infinite without an answer.

    *after*: operations that come before it in any order, though they may overlap.
    """

    client: str
    name: str
    args: tuple[Any, ...]
    began: float
    ended: float = inf
    answer: Any = UNKNOWN
    after: tuple[Operation, ...] = ()

    @property
    def is_answered(self) -> bool:
        return self.answer is not UNKNOWN

    def __str__(self) -> str:
        return f"{self.began:4} to {self.ended:4} {self.client:22} {self.name}{self.args} -> {self.answer}"


@dataclass(slots=True)
class Recorder:
    """The operations of a run, by object. Moments are numbers that count what begins and ends."""

    objects: dict[Hashable, list[Operation]] = field(default_factory=dict)
    moment: int = 0

    def tick(self) -> int:
        """Return the next moment."""
        self.moment += 1
        return self.moment

    def note(
        self, key: Hashable, client: str, name: str, args: tuple[Any, ...], began: float, **known: Any
    ) -> Operation:
        """Add an operation on the object *key*."""
        operation = Operation(client, name, args, began, **known)
        self.objects.setdefault(key, []).append(operation)
        return operation

    @contextmanager
    def span(self) -> Iterator[Span]:
        """Yield the moments of a request; it has no end if it raises."""
        span = Span(self.tick())
        yield span
        span.ended = self.tick()

    def shown(self, key: Hashable) -> str:
        """Return the operations on an object as lines, in the order in which they began."""
        return "\n".join(map(str, sorted(self.objects[key], key=lambda each: each.began)))


@dataclass(slots=True)
class Span:
    """When a request began and ended."""

    began: float
    ended: float = inf


Step = Callable[[Any, Operation], Iterator[Any]]
"""Yields the states that an operation with its answer leads to; none if the answer cannot be."""
