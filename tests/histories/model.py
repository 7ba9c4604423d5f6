"""What a run of a simulator recorded, and whether each of its objects was linearizable."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from tests.histories.checker import check
from tests.histories.history import Recorder, Step
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
        return Outcome(self.outcome.violation or self._broken(), self.outcome.requests, self.outcome.faults)

    def _broken(self) -> Violation | None:
        for key, operations in self.recorder.objects.items():
            found = check(operations, self.initial(key), self.step, self.reads)
            if not found.right:
                left = [each for each in operations if each.is_answered and each not in found.order]
                text = f"{key}: no order has all {len(operations)} operations"
                return Violation("linearizable", f"{text}; after the longest one: {left[0]}")
        return None
