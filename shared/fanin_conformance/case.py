"""One case: its sentence, where it comes from, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fanin_conformance.trial import Trial

Play = Callable[[Trial], None]


@dataclass(frozen=True, slots=True)
class Case:
    """A case and its number. *is_race*: its time grows with the rounds; *is_large*: with the items."""

    id: str
    given: str
    when: str
    then: str
    origin: str
    play: Play
    is_race: bool = False
    is_large: bool = False

    @property
    def sentence(self) -> str:
        """The case in one line."""
        return f"Given {self.given}, when {self.when}, then {self.then}."


def case(
    number: str,
    given: str,
    when: str,
    then: str,
    origin: str,
    is_race: bool = False,
    is_large: bool = False,
) -> Callable[[Play], Case]:
    """Return a decorator that makes a case of a function, which raises Broken if the tracker fails it."""
    return lambda play: Case(number, given, when, then, origin, play, is_race, is_large)


def all_of(module: dict[str, object]) -> tuple[Case, ...]:
    """Return the cases among the names of a module."""
    return tuple(each for each in module.values() if isinstance(each, Case))
