"""The rules of the seams, each left out once: ``python -m tests.simulation_seams.mutants --seeds 2000``."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import timedelta
from itertools import count

from fanin.api.bus_events import task_acks, workflow_callbacks
from fanin.callbacks.delivering import Delivered
from fanin.client.batch import Batch as ClientBatch
from fanin.client.consuming import chunk_consumer, consumer, consumers, ordering, settling, skipping
from fanin.client.consuming.chunk_consumer import Part
from fanin.client.consuming.chunks import Chunk
from fanin.client.consuming.consumer import Consumer
from fanin.client.consuming.settling import Tally
from fanin.client.consuming.skipping import Look, Looks
from fanin.client.handing_over import handing, under_work
from fanin.client.handing_over.under_work import UnderWork
from fanin.completion_events.ending_event import EndingEvent
from fanin.completion_events.workflow_results import TaskEnd
from fanin.isolating import receives
from fanin.tracker import Batch, Outcome, State, Tracker, service
from fanin.tracker.batch_changes import repairing, sweeping
from fanin.tracker.batch_changes.sweeping import Sweeper
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules import lifecycle, thresholds
from fanin.tracker.rules.children import parent_ack
from fanin.tracker.rules.lifecycle import Transition
from tests.simulating.mutants import Mutant, drive
from tests.simulation_seams.announcing_mutants import ANNOUNCING_MUTANTS
from tests.simulation_seams.enough_mutants import ENOUGH_MUTANTS
from tests.simulation_seams.for_good_mutants import FOR_GOOD_MUTANTS
from tests.simulation_seams.item_mutants import ITEM_MUTANTS
from tests.simulation_seams.repair_mutants import REPAIR_MUTANTS
from tests.simulation_seams.result_mutants import RESULT_MUTANTS
from tests.simulation_seams.run import ROOM
from tests.simulation_seams.worker_mutants import WORKER_MUTANTS

_apply, _settled, _known = Transition.apply, Tally.settled, Tracker._known_batch
_key, _reached = UnderWork.key, sweeping.reached_by
_failed, _at, _worked, _owner_created = Consumer._failed, Looks.at, Part.worked, handing.owner_created
_ended, _acks, _end = EndingEvent.ended, task_acks._by_tenant, workflow_callbacks._end


def _complete_by_failures(self, batch):
    after = _apply(self, batch)
    return replace(after, state=State.COMPLETE) if after.state is State.FAILED else after


def _known_for_ever(self, key):
    _, batch = self._known.get(key, (None, None))
    return batch or _known(self, key)


def _settled_without_answers(self):
    self.answered = [each for each in self.answered if each.counts is not None]
    return _settled(self)


def _acked_all_the_same(self, call, ack, error):
    return ack


def _failed_at_once(self, call, ack, error):
    return _failed(self, replace(call, last=True), ack, error)


def _redelivered_together(records):
    first = [record for record in records if receives(record) < 2]
    again = [record for record in records if receives(record) > 1]
    return [run for run in (first, again) if run]


def _redelivered_first(records):
    return sorted(([record] for record in records), key=lambda run: -receives(run[0]))


def _as_ever(upwards, times, name):
    return upwards


def _work_in_the_dark(self, ack, record):
    found = _at(self, ack, record)
    return Look.DUE if found is Look.UNKNOWN else found


def _made_whatever_the_answer(*item_ids, error=None):
    _owner_created(*item_ids)


_keys = count()


def _new_key_each_time(self, *names):
    return f"key {next(_keys)}"


def _number_each_add(self, *names):
    return f"key {next(_keys)}" if names[0] == "add" else _key(self, *names)


def _latest_call():
    return next(reversed(list(under_work._all().values())), None)


def _all_items(self, transport):
    return tuple(self.items.indexes)


def _returns_never(self, chunk):
    self.returns = False
    return _worked(self, chunk)


def _whole_chunk(self, chunk):
    worked = _worked(self, chunk)
    return replace(worked, acks=[chunk.ack] if worked.acks else [])


def _parent_succeeds(batch, children, result):
    return replace(parent_ack(batch, children, result), outcome=Outcome.SUCCESS, reason=None)


def _tasks_succeed(entries):
    return _acks([replace(entry, failed=False) for entry in entries])


def _without_callback(batch, tracker):
    return replace(_ended(batch, tracker), callback=None)


def _percentages_of_open_batches(store, batch, at):
    return _reached(store, replace(batch, state=State.CLOSED), at)


def _reported_unrepaired(self, batch):
    before = batch
    for reached in sweeping.reached_by(self.climber.store, batch, self.climber.now()):
        self.climber.store.report(before, reached)
        batch = thresholds.reported(batch, reached)
    return batch


def _nothing_returns(self):
    return {"batchItemFailures": []}


def _admits_always(batch, seen, reached):
    return batch.is_alive


def _checks_rarely(batch, closed, at, wait=None):
    return thresholds.next_threshold_check(batch, closed, at, wait=timedelta(minutes=9))


def _drop_first(message, tracker, tasks):
    batch = workflow_callbacks.batch_of_event(workflow_callbacks.json.loads(message)["detail"], tracker)
    token = tracker.store.task_token(batch.key)
    if token is not None:
        tracker.store.drop_token(batch.key)
        detail = workflow_callbacks.json.loads(message)["detail"]
        _end(
            tasks(token.kind), token.text, workflow_callbacks.task_end(batch.state, token.on_failures, detail)
        )


def _always_output(state, on_failures, detail):
    return TaskEnd(output=workflow_callbacks.json.dumps(detail))


def _failure_limit(self):
    limits = [] if self.max_failures is None else [self.max_failures]
    if self.max_failure_percent is not None:
        limits.append(max(1, -(-self.total * self.max_failure_percent // 100)))
    return min(limits, default=None)


_limit_of_open_too = property(_failure_limit)


def _cancelled_by_its_block(self, error):
    if self._work is None:
        self._cancel_for(error)
    else:
        self._work.block_raised(self.id, lambda: self._cancel_for(error))


MUTANTS = (
    Mutant("an end by failures is no completion", (Transition, "apply", _complete_by_failures)),
    Mutant("an item of a batch that is over is not worked on", (skipping, "is_over", lambda state: False)),
    Mutant("a known state is used for a bounded time", (Tracker, "_known_batch", _known_for_ever)),
    Mutant("an item that is done is not worked on again", (Looks, "wants", lambda self, record: False)),
    Mutant("a message whose ack was not answered returns", (Tally, "settled", _settled_without_answers)),
    Mutant("an item whose work raised is not acked", (Consumer, "_failed", _acked_all_the_same)),
    Mutant("an item fails at its last attempt", (Consumer, "_failed", _failed_at_once)),
    Mutant("each redelivered record is acked alone", (consumer, "runs_of", _redelivered_together)),
    Mutant("redelivered records go last", (consumer, "runs_of", _redelivered_first)),
    Mutant("the order of redelivered records changes", (ordering, "in_turn", _as_ever)),
    Mutant("the order of a redelivered chunk changes", (chunk_consumer, "in_turn", _as_ever)),
    Mutant(
        "an owner that the client makes is noticed", (handing, "owner_created", lambda *_, error=None: None)
    ),
    Mutant("an owner that may not exist is none", (handing, "owner_created", _made_whatever_the_answer)),
    Mutant(
        "an item that may have an owner is not acked", (UnderWork, "is_open", property(lambda self: False))
    ),
    Mutant("an owner that the user names is noticed", (consumers, "hand_over", lambda item_id: None)),
    Mutant("attempts share a key", (UnderWork, "key", _new_key_each_time)),
    Mutant("attempts share the keys of their adds", (UnderWork, "key", _number_each_add)),
    Mutant(
        "a batch stays open for the next attempt",
        (UnderWork, "block_raised", lambda self, batch, cancel: cancel()),
    ),
    Mutant(
        "a block under a key leaves its batch to the next run",
        (ClientBatch, "abandon", _cancelled_by_its_block),
    ),
    Mutant("an end that was not asked for is raised", (service, "unless_ended", lambda batch, *_: batch)),
    Mutant("a redelivered chunk is read first", (Chunk, "remaining", _all_items)),
    Mutant("a chunk with an item left returns", (Part, "worked", _returns_never)),
    Mutant("of a chunk only what is done is acked", (Part, "worked", _whole_chunk)),
    Mutant("a batch fails its parent's item if it fails", (service, "parent_ack", _parent_succeeds)),
    Mutant("a task fails its item if it fails", (task_acks, "_by_tenant", _tasks_succeed)),
    Mutant("a webhook that fails gets the event again", (Delivered, "response", _nothing_returns)),
    Mutant("an event names its callback", (EndingEvent, "ended", staticmethod(_without_callback))),
    Mutant("a percentage is reported", (thresholds, "percentages_left", lambda batch: ())),
    Mutant("a percentage is one of a final total", (sweeping, "reached_by", _percentages_of_open_batches)),
    Mutant("a threshold is reported once", (thresholds, "admits", _admits_always)),
    Mutant(
        "a batch is stuck after the time it gave", (thresholds, "_stall", lambda stuck_after: stuck_after / 9)
    ),
    Mutant("a batch that is only not completed is not stuck", (Sweeper, "_reported", _reported_unrepaired)),
    Mutant("a threshold is looked for each minute", (lifecycle, "next_threshold_check", _checks_rarely)),
    Mutant("a task ends before its token is dropped", (workflow_callbacks, "resume", _drop_first)),
    Mutant("a task fails if its batch does not complete", (workflow_callbacks, "task_end", _always_output)),
    Mutant(
        "a batch is deleted once it is settled", (repairing, "check_deletable", lambda batch, waits: None)
    ),
    Mutant("a batch is kept for the task that waits", (Tracker, "_waits", lambda self, batch: False)),
    Mutant("a percentage of failures is one of a final total", (Batch, "failure_limit", _limit_of_open_too)),
    Mutant("a report is kept with its mark", (MemoryStore, "report", lambda self, seen, reached: True)),
    Mutant("a report stands when its function returns", (UnderWork, "settled", lambda self, ack: ack)),
    Mutant("a function has the item of its thread", (under_work, "_here", _latest_call)),
    Mutant("no work begins behind a message that returns", (Tally, "is_behind", lambda self, record: False)),
    Mutant("a message returns behind one that does", (settling, "behind", lambda records, returned: [])),
    Mutant(
        "no item of a chunk begins behind one that raised",
        (chunk_consumer, "is_in_order", lambda record: False),
    ),
    *REPAIR_MUTANTS,
    *RESULT_MUTANTS,
    *ANNOUNCING_MUTANTS,
    *ENOUGH_MUTANTS,
    *ITEM_MUTANTS,
    *WORKER_MUTANTS,
    *FOR_GOOD_MUTANTS,
)

EQUIVALENT = ()


if __name__ == "__main__":
    sys.exit(drive(ROOM, MUTANTS, EQUIVALENT))
