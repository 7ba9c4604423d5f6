"""Rules of reads, of events and of repairs, each left out once."""

from __future__ import annotations

from dataclasses import replace

from fanin.api.bus_events import ending_events as events
from fanin.api.bus_events.progress_event import ProgressEvent
from fanin.completion_events.ending_event import EndingEvent
from fanin.tracker import State, memory
from fanin.tracker.batch_changes import repairing
from fanin.tracker.batch_changes.deleting import without_user_data
from fanin.tracker.batch_changes.reopening import origin_slice
from fanin.tracker.reads import reading
from tests.simulating.mutants import Mutant
from tests.simulation import replica

_detail, _of = events._detail, ProgressEvent.of


def _over_by_its_time(batch, now):
    return batch.expires_at <= now or batch.state is State.EXPIRED


def _event_of_a_deleted_batch(change, tracker):
    batch = tracker.store.get(events.key_of(change["Keys"]["pk"]["S"]))
    if batch is not None and batch.deleted_at is not None:
        return EndingEvent.ended(batch, tracker).detail()
    return _detail(change, tracker)


def _deleted_with_its_name(batch, at):
    return replace(without_user_data(batch, at), user_key=batch.user_key)


def _outstanding_of_the_origin(store, origin, stretches, at, limit):
    return origin_slice(store, origin, stretches or [(0, origin.failed - 1)], at, limit)


def _progress_of_now(batch, reached):
    return _of(replace(batch), replace(reached, progress=replace(reached.progress, failed=batch.failed + 1)))


REPAIR_MUTANTS = (
    Mutant("a batch is read consistently", (replica, "EVENTUAL", replica.EVENTUAL | {"get"})),
    Mutant("pages are read consistently", (replica, "EVENTUAL", replica.EVENTUAL | {"pages"})),
    Mutant("a deleted batch is over on each clock", (reading, "is_expired", _over_by_its_time)),
    Mutant("a deleted batch has no event", (events, "_detail", _event_of_a_deleted_batch)),
    Mutant("a delete removes what a user gave", (memory, "without_user_data", _deleted_with_its_name)),
    Mutant("a reopened batch has what failed", (repairing, "origin_slice", _outstanding_of_the_origin)),
    Mutant("an event has its progress", (ProgressEvent, "of", staticmethod(_progress_of_now))),
)
