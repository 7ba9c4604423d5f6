"""Many batches end, and the sweep keeps up: deadlines are met, and the age of the oldest batch is right."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from fanin.api.events.ending_events import confirm
from fanin.tracker import Batch, OpenBatch, State, Tracker
from fanin.tracker.events import event_id
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules import lifecycle
from fanin.tracker.rules.lifecycle import transition
from fanin.tracker.writing import sweeping
from tests.tracker.calls import START, Clock

ENDED_A_SECOND = 200
MINUTES = 7
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
# A sweep's workers have as many requests under way at once as there are lists of due batches.
REQUEST = timedelta(milliseconds=10) / 16
DEADLINE = 3 * MINUTE


@dataclass
class Timed(MemoryStore):
    """A store whose requests take time during a sweep."""

    clock: Clock = field(default_factory=Clock)
    sweeping: bool = False

    def get(self, key):
        return self._after(super().get, key)

    def transition(self, key, step):
        return self._after(super().transition, key, step)

    def postpone(self, seen, next_check_at):
        return self._after(super().postpone, seen, next_check_at)

    def notice(self, batch, at):
        return self._after(super().notice, batch, at)

    def announced(self, key):
        return self._after(super().announced, key)

    def _after(self, request, *args):
        if self.sweeping:
            self.clock.at += REQUEST
        return request(*args)


class Traffic:
    """Batches that end all the time, none of whose events arrives, and one a second without acks."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = Timed(clock=self.clock)
        self.tracker = Tracker(self.store, now=self.clock, pause=lambda _: None)
        self.ended = 0
        self.unacked: list[Batch] = []
        open_one = self.tracker.open("t", OpenBatch())
        self.store.batches.clear()
        self.closed = replace(open_one, state=State.CLOSED, closed_at=START)

    def run(self) -> None:
        """The traffic, with a sweep at the end of each minute, or as soon as the last one is over."""
        over = START
        for minute in range(1, MINUTES + 1):
            self._pass_minute(START + (minute - 1) * MINUTE)
            self.clock.at = max(over, START + minute * MINUTE)
            over = self._sweep()

    def _pass_minute(self, since: datetime) -> None:
        for second in range(60):
            self.clock.at = since + second * SECOND
            self.unacked.append(self.tracker.open("t", OpenBatch(deadline=DEADLINE)))
            complete = transition(self.closed, State.COMPLETE, self.clock.at, caller="c").apply(self.closed)
            for _ in range(ENDED_A_SECOND):
                self._end(complete)

    def _end(self, complete: Batch) -> None:
        self.ended += 1
        batch_id = f"{self.ended:08x}-0000-4000-8000-{self.ended:012x}"
        self.store.create(replace(complete, batch_id=batch_id))

    def _sweep(self) -> datetime:
        """One sweep of a minute at most, and the event of a batch that it sends again arrives; its end."""
        until = self.clock.at + MINUTE
        self.store.sweeping = True
        self.tracker.sweep(lambda: self.clock.at < until)
        self.store.sweeping = False
        for key, _ in self.store.notices:
            confirmed(self.tracker, self.store.batches[key])
        self.store.notices.clear()
        return self.clock.at


def confirmed(tracker: Tracker, batch: Batch) -> None:
    """The bus brings the batch's ending event to the handler that confirms it."""
    detail = {"tenant": batch.tenant, "batchId": batch.batch_id, "eventId": event_id(batch)}
    assert confirm(detail, tracker)


def test_deadlines_are_met_within_two_sweeps_while_200_batches_end_a_second_and_no_event_arrives(monkeypatch):
    """An event is missed after three minutes instead of fifteen: the same load, in a shorter test."""
    monkeypatch.setattr(lifecycle, "CHECK_AFTER", 3 * MINUTE)
    monkeypatch.setattr(sweeping, "CHECK_AFTER", 3 * MINUTE)
    traffic = Traffic()
    traffic.run()
    two_sweeps_ago = START + (MINUTES - 2) * MINUTE
    overdue = [batch for batch in traffic.unacked if batch.deadline_at <= two_sweeps_ago]
    ended = [traffic.store.batches[batch.key] for batch in overdue]
    waiting = [
        batch.next_check_at for batch in traffic.store.batches.values() if batch.next_check_at is not None
    ]

    assert len(overdue) > 100
    assert {batch.state for batch in ended} == {State.TIMED_OUT}
    assert max(batch.ended_at - batch.deadline_at for batch in ended) <= 2 * MINUTE
    assert min(waiting) > two_sweeps_ago
