"""Rules of the end that failures bring, each left out once."""

from __future__ import annotations

from dataclasses import replace

from fanin.tracker import State, events
from fanin.tracker.batch_changes.climb import Climber
from fanin.tracker.batch_changes.recording import Recorder
from fanin.tracker.rules.lifecycle import Transition, transition
from fanin.tracker.rules.model import ALIVE, Batch
from tests.simulating.mutants import Mutant

_admits, _apply = Transition.admits, Transition.apply
_write_of, _seal, _sources = Recorder._write_of, Climber.seal, Transition.sources.fget


def _one_failure_early(self, batch):
    return _admits(self if self.failures is None else replace(self, failures=self.failures - 1), batch)


def _one_failure_late(self, batch):
    return _admits(self if self.failures is None else replace(self, failures=self.failures + 1), batch)


def _fails_without_end(self, page):
    return replace(_write_of(self, page), fails=False)


def _end_by_failures_unseen(self, batch):
    """Each caller that fails an item asks for the end, and the store says whether it is enough."""
    stored = self.store.get(batch.key) if batch.max_failures is not None else None
    if stored is None:
        return None
    ended = self.store.transition(batch.key, self._enough(stored, batch.max_failures))
    return ended if ended and not ended.is_alive else None


def _admits_whatever_was_healed(self, batch):
    return _admits(replace(self, healed=batch.healed), batch)


def _limit(percent_of, while_open: bool = False):
    """The number of failures that ends a batch, by another reckoning of its percentage."""

    def failure_limit(self):
        limits = [] if self.max_failures is None else [self.max_failures]
        if self.max_failure_percent is not None and (while_open or self.state is not State.OPEN):
            limits.append(percent_of(self))
        return min(limits, default=None)

    return property(failure_limit)


def _rounded_up(batch):
    return max(1, -(-batch.total * batch.max_failure_percent // 100))


def _rounded_down(batch):
    return max(1, batch.total * batch.max_failure_percent // 100)


def _more_than_the_percentage(batch):
    return batch.total * batch.max_failure_percent // 100 + 1


def _failed_is_complete(self, batch, limit):
    return replace(transition(batch, State.COMPLETE, self.now()), failures=limit, healed=batch.healed)


def _any_live_batch(self):
    return ALIVE if self.final else _sources(self)


def _seal_without_failures(self, batch, caller):
    return _seal(self, replace(batch, max_failures=None, max_failure_percent=None), caller)


def _failed_names_its_caller(self, batch):
    after = _apply(self, batch)
    return replace(after, completed_at=self.at) if self.to is State.FAILED else after


ENDING_MUTANTS = (
    Mutant("enough failures are enough, not one more", (Transition, "admits", _one_failure_late)),
    Mutant("enough failures end a batch", (Recorder, "_write_of", _fails_without_end)),
    Mutant(
        "enough failures were seen by who ends a batch", (Climber, "end_by_failures", _end_by_failures_unseen)
    ),
    Mutant(
        "enough failures, and nothing healed since",
        (Transition, "admits", _admits_whatever_was_healed),
        since=17300,
    ),
    Mutant("a percentage is rounded up", (Batch, "failure_limit", _limit(_rounded_down))),
    Mutant(
        "a percentage is reached, not exceeded",
        (Batch, "failure_limit", _limit(_more_than_the_percentage)),
        since=35600,
    ),
    Mutant(
        "a percentage is one of the final total",
        (Batch, "failure_limit", _limit(_rounded_up, while_open=True)),
    ),
    Mutant("who has failed is not complete", (Climber, "_enough", _failed_is_complete)),
    Mutant("who has failed completed at no time", (Transition, "apply", _failed_names_its_caller)),
    Mutant("close looks at the failures", (Climber, "seal", _seal_without_failures)),
    Mutant(
        "an event says whether all is done",
        (
            events,
            "EVENT_TYPES",
            dict(events.EVENT_TYPES) | {State.FAILED: events.EVENT_TYPES[State.COMPLETE]},
        ),
    ),
)

ENDING_EQUIVALENT = (
    (
        Mutant("the store looks for enough failures", (Transition, "admits", _one_failure_early)),
        "who asks has seen enough of them, and that none was healed since",
    ),
    (
        Mutant("a percentage ends a closed batch", (Transition, "sources", property(_any_live_batch))),
        "who asks has seen the batch closed, and a batch that was closed is never open again",
    ),
)
