"""What a run of a simulator recorded, and whether each of its objects was linearizable."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from tests.histories.checker import Undecided, check
from tests.histories.history import Operation, Recorder, Step
from tests.simulating.room import Outcome
from tests.simulating.violation import Violation


@dataclass(frozen=True, slots=True)
class Recorded:
    """*initial*: the first state of an object; *reads*: operations that change none."""

    recorder: Recorder
    outcome: Outcome
    step: Step
    initial: Callable[[Hashable], Hashable]
    reads: frozenset[str] = frozenset()

    def judged(self) -> Outcome:
        """Return the outcome of the run, with the first object that has no order as its violation."""
        return Outcome(self.outcome.violation or self.broken(), self.outcome.requests, self.outcome.faults)

    def broken(self) -> Violation | None:
        """Return the first object whose operations have no order, as a violation."""
        found = (self._checked(key, operations) for key, operations in self.recorder.objects.items())
        return next((each for each in found if each), None)

    def _checked(self, key: Hashable, operations: list[Operation]) -> Violation | None:
        try:
            found = check(operations, self.initial(key), self.step, self.reads)
        except Undecided as error:
            return Violation("undecided", f"{key}: {error}")
        if found.right:
            return None
        unordered = [each for each in operations if each.is_answered and each not in found.order]
        text = f"{key}: no order has all {len(operations)} operations"
        return Violation("linearizable", f"{text}; after the longest one: {unordered[0]}")
