"""A simulator, as what runs many of its seeds sees it: a seed comes in, an outcome comes out."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from tests.simulating.violation import Violation


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to: the broken promise, if any, and what it met on its way."""

    violation: Violation | None
    requests: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)


class Simulate(Protocol):
    """Runs a seed, the same way each time; *lines* takes down each request."""

    def __call__(self, seed: int, lines: list[str] | None = None) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Room:
    """One simulator. *package*: where its commands are; *race*: runs small scenarios in which things meet."""

    package: str
    simulate: Simulate
    race: Simulate | None = None

    def way(self, races: bool) -> Simulate:
        """How a seed is run."""
        return self.race if races and self.race else self.simulate


def played(*parts: Callable[[], None]) -> Violation | None:
    """Go through a run to its end, or to the first promise that breaks: an exception breaks one, too."""
    try:
        with _unlogged():
            for part in parts:
                part()
    except Violation as found:
        return found
    except Exception as error:
        return Violation("error", f"{type(error).__name__}: {error}")
    return None


@contextmanager
def _unlogged() -> Iterator[None]:
    """Without the log of what goes wrong: here that is what the simulation does on purpose."""
    log = logging.getLogger("fanin")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)
