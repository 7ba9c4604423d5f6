"""The rules of events that are put at once, each left out once.

A mark without a put, or before it, delays the event until the sweep: ``tests/ending_events`` refuses it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from fanin.completion_events import announcer
from fanin.completion_events.announcer import Announcer
from fanin.completion_events.ending_event import EndingEvent
from fanin.errors import StoreUnavailable
from fanin.tracker import State
from fanin.tracker.announcing import _Announcing
from tests.simulating.mutants import Mutant

_announced, _transition = Announcer._has_put, _Announcing.transition


def _confirmed_by_the_process(self, batch, started):
    announced = _announced(self, batch, started)
    if announced:
        with suppress(StoreUnavailable):
            self.store.confirm(batch.key, batch.expires_at)
    return announced


def _announced_before(self, key, change):
    batch = self.store.get(key)
    if change.to is State.COMPLETE and batch is not None and batch.is_alive:
        self.announce(change.apply(batch))
    return self.store.transition(key, change)


class _Forgetful:
    """Describes a completion with what was known before the last failures."""

    @staticmethod
    def ended(batch, tracker):
        return EndingEvent.ended(replace(batch, failed=0), tracker)


ANNOUNCING_MUTANTS = (
    Mutant("only the bus confirms an event", (Announcer, "_has_put", _confirmed_by_the_process)),
    Mutant("an event is put after the decision", (_Announcing, "transition", _announced_before)),
    Mutant("each copy of a completion says the same", (announcer, "EndingEvent", _Forgetful)),
)
