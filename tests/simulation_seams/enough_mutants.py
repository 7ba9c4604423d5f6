"""Rules of batches that end early with enough, and of caps, each left out once."""

from __future__ import annotations

from dataclasses import replace

from fanin.completion_events.ending_event import EndingEvent
from fanin.tracker import State, service
from fanin.tracker.batch_changes import climb
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules import children
from fanin.tracker.rules.model import Batch
from fanin.tracker.rules.page import Page
from tests.simulating.mutants import Mutant

_turn, _ended = MemoryStore.transition, EndingEvent.ended


def _one_below(batch, succeeded):
    limit = batch.success_limit
    return limit is not None and succeeded >= max(1, limit - 1)


def _ends_again(self, key, step):
    batch = self.batches[key]
    if step.to is not State.COMPLETE or batch.reached is None:
        return _turn(self, key, step)
    self.batches[key] = step.apply(batch)
    return self.batches[key]


def _without_what_was_reached(batch, tracker):
    return replace(_ended(batch, tracker), reached=None)


ENOUGH_MUTANTS = (
    Mutant(
        "a batch ends at its number of successes, not below",
        (climb, "is_enough", _one_below),
        (climb, "may_be_enough", lambda batch, succeeded: succeeded > 0),
    ),
    Mutant("what failed has not succeeded", (Page, "succeeded", property(lambda self: self.n))),
    Mutant("a batch with enough ends once", (MemoryStore, "transition", _ends_again)),
    Mutant("an event says what was enough", (EndingEvent, "ended", staticmethod(_without_what_was_reached))),
    Mutant(
        "a batch with enough has items left",
        (Batch, "is_done", property(lambda self: self.state is State.COMPLETE)),
    ),
    Mutant("a child with enough does its parent's item", (children, "ENOUGH", "succeeded")),
    Mutant("a cap is held", (service, "check_room", lambda batch, count: None)),
)
