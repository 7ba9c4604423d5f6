"""The rules of the seams, each left out once: ``python -m tests.simulation_seams.mutants --seeds 2000``."""

from __future__ import annotations

import sys
from dataclasses import replace

from fanin.client import adapter, consumer, ordering, skipping
from fanin.client.consumer import Consumer
from fanin.client.settling import Tally, Worked
from fanin.client.skipping import Look, Looks
from fanin.isolating import receives
from fanin.tracker import Outcome, State, Tracker
from fanin.tracker.lifecycle import Transition
from tests.simulating.mutants import Mutant, drive
from tests.simulation_seams.run import ROOM

_apply, _settled, _known = Transition.apply, Tally.settled, Tracker._known_batch
_failed, _at = Consumer._failed, Looks.at


def _complete_by_failures(self, batch):
    after = _apply(self, batch)
    return replace(after, state=State.COMPLETE) if after.state is State.FAILED else after


def _known_for_ever(self, key):
    read_at, batch = self._known.get(key, (None, None))
    return batch or _known(self, key)


def _settled_without_answers(self):
    self.answered = [each for each in self.answered if each.counts is not None]
    return _settled(self)


def _acked_all_the_same(self, record, ack, error):
    return ack


def _failed_at_once(self, record, ack, error):
    return _failed(replace(self, fail_after=1), record, ack, error)


def _redelivered_together(records):
    first = [record for record in records if receives(record) < 2]
    again = [record for record in records if receives(record) > 1]
    return [run for run in (first, again) if run]


def _redelivered_first(records):
    return sorted(([record] for record in records), key=lambda run: -receives(run[0]))


def _as_delivered(record):
    return receives(record), record["messageId"].encode()


def _work_in_the_dark(self, ack, record):
    found, state = _at(self, ack, record)
    return (Look.DUE if found is Look.UNKNOWN else found), state


MUTANTS = (
    Mutant("an end by failures is no completion", (Transition, "apply", _complete_by_failures)),
    Mutant("an item of a batch that is over is not worked on", (skipping, "is_over", lambda state: False)),
    Mutant("a known state is used for a bounded time", (Tracker, "_known_batch", _known_for_ever)),
    Mutant("a message whose ack was not answered returns", (Tally, "settled", _settled_without_answers)),
    Mutant("an item whose work raised is not acked", (Consumer, "_failed", _acked_all_the_same)),
    Mutant("an item fails at its last attempt", (Consumer, "_failed", _failed_at_once)),
    Mutant("each redelivered record is acked alone", (consumer, "runs_of", _redelivered_together)),
    Mutant("redelivered records go last", (consumer, "runs_of", _redelivered_first)),
    Mutant("the order of redelivered records changes", (ordering, "_turn", _as_delivered)),
)

EQUIVALENT = ()


if __name__ == "__main__":
    sys.exit(drive(ROOM, MUTANTS, EQUIVALENT))
