"""Histories of the tracker: what callers ask of a batch while others do, recorded in the simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

from fanin.errors import BatchEnded, Conflict
from fanin.tracker import (
    Ack,
    AckReport,
    Added,
    Batch,
    BatchKey,
    Closed,
    GroupId,
    Outcome,
    Slice,
    State,
    Tracker,
    Verdict,
)
from tests.histories.history import Operation, Recorder, Span
from tests.histories.model import Recorded
from tests.histories.ports import unwind
from tests.histories.tracker_spec import READS, REFUSED, SWEEPER, step
from tests.histories.tracker_spec import Batch as Model
from tests.simulating.faults import Fault
from tests.simulating.loop import Actor
from tests.simulating.network import Request
from tests.simulation import simulation
from tests.simulation.choices import RandomChoices
from tests.simulation.scenario import GUARDED_DIGITS, BatchScript, Scenario, adds_of
from tests.simulation.trace import Trace
from tests.simulation.world import World

MAIN = "main"


def draw(random: Random) -> Scenario:
    """Return a scenario of one small batch, in which no time passes."""
    bits, total = random.choice((2, 2, 3, 4)), random.choice((0, 1, 2, 3, 4, 5, 6))
    return Scenario(
        page_bits=(bits, bits),
        batches=(_batch(random, total),),
        guarded_digits=random.choice((0, 1, GUARDED_DIGITS)),
        room=random.choice((2, 3, 4)),
        start_rate=random.choice((0.5, 1.0)),
        eagerness=random.choice((0.1, 0.3, 0.8)),
        fold=random.choice((1, 1, 2, 3)),
        copies=random.choice(((1,), (1, 1, 2), (1, 2, 3))),
        is_basic=False,
        failing=random.choice((0.0, 0.3, 0.6)),
        both=random.choice((0.3, 0.8)),
        sweepers=random.choice((0, 1, 2)),
        readers=random.choice((0, 1, 2, 3)),
    )


def _batch(random: Random, total: int) -> BatchScript:
    closers = tuple(f"closer {number}" for number in range(random.choice((1, 1, 2))))
    early, cancellers = random.random() < 0.3, int(random.random() < 0.15)
    most = random.choice((None, None, 1, 2))
    adds = adds_of(random, "add", total)
    return BatchScript("small", adds, closers, early=early, cancellers=cancellers, max_failures=most)


@dataclass
class Recording:
    """A tracker whose requests are recorded if an actor makes them."""

    tracker: Tracker
    recorder: Recorder
    world: Any
    repeated: set[Actor | None]
    read_at: dict[tuple[Actor | None, BatchKey], Span] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tracker, name)

    def add(self, tenant: str, batch_id: str, count: int, key: str | None) -> Added:
        note = self._noting(BatchKey(tenant, batch_id))
        span, args = self._span(), (key or f"without {self.recorder.moment}", count)
        try:
            added = self.tracker.add(tenant, batch_id, count, key)
        except Conflict:
            note("add", args, self._ended(span), REFUSED)
            raise
        except BaseException:
            note("add", args, span)
            raise
        note("add", args, self._ended(span), (added.total - count, count))
        return added

    def close(self, tenant: str, batch_id: str, caller: str) -> Closed:
        note = self._noting(BatchKey(tenant, batch_id))
        span, callers = self._span(), (frozenset({caller}), 0, True, True)
        try:
            closed = self.tracker.close(tenant, batch_id, caller)
        except BatchEnded:
            span = self._ended(span)
            note("settle", callers, span, None, after=(note("close", (), span, None),))
            raise
        except BaseException:
            note("close", (), span)
            note("settle", callers, span)
            raise
        span = self._ended(span)
        first = note("close", (), span, None)
        note("settle", callers, span, caller if closed.completed_by_caller else None, after=(first,))
        return closed

    def cancel(self, tenant: str, batch_id: str, reason: str, children: bool = False) -> Batch:
        note, span = self._noting(BatchKey(tenant, batch_id)), self._span()
        try:
            batch = self.tracker.cancel(tenant, batch_id, reason, children=children)
        except BatchEnded as refusal:
            note("cancel", (), self._ended(span), State(refusal.state))
            raise
        except BaseException:
            note("cancel", (), span)
            raise
        note("cancel", (), self._ended(span), batch.state)
        return batch

    def sweep(self) -> Any:
        """Record a sweep as one without an answer: it says nothing of a batch."""
        for key in self.world.ledger_of:
            self._noting(key)("settle", (SWEEPER,), self._span())
        return self.tracker.sweep()

    def get(self, tenant: str, batch_id: str) -> Batch:
        span = self._span()
        batch = self.tracker.get(tenant, batch_id)
        self.read_at[self.world.loop.actor, batch.key] = span
        seen = (batch.state, batch.total, batch.completed_by)
        self._noting(batch.key)("get", (), self._ended(span), seen)
        return batch

    def outstanding(self, batch: Batch, start: int, limit: int) -> Slice:
        return self._listed("outstanding", self.tracker.outstanding, batch, start, limit)

    def failures(self, batch: Batch, start: int, limit: int) -> Slice:
        return self._listed("failed", self.tracker.failures, batch, start, limit)

    def ack(self, tenant: str, acks: Sequence[Ack]) -> AckReport:
        self.repeated.discard(self.world.loop.actor)
        span = self._span()
        try:
            report = self.tracker.ack(tenant, acks)
        except BaseException:
            self._note_acks(tenant, acks, span, None)
            raise
        self._note_acks(tenant, acks, self._ended(span), report)
        return report

    def _note_acks(self, tenant: str, acks: Sequence[Ack], span: Span, report: AckReport | None) -> None:
        """Record a mark for each ack, and after them a settle for each batch."""
        for batch_id in dict.fromkeys(ack.batch_id for ack in acks):
            note = self._noting(BatchKey(tenant, batch_id))
            mine = [ack for ack in acks if ack.batch_id == batch_id]
            marks = self._note_marks(note, mine, span, report)
            looks = any(ack.outcome is Outcome.FAILURE for ack in mine)
            callers = frozenset(ack.caller for ack in mine)
            args = (callers, sum({1 << _item(ack) for ack in mine}), looks)
            if report is None:
                note("settle", args, span)
                continue
            notified = _notified(report, batch_id)
            if notified and len({_item(ack) // self.tracker.page_bits for ack in mine}) > 1:
                marks.append(note("climb", tuple(notified), span, None))
            note("settle", args, span, notified[0] if notified else None, after=tuple(marks))

    def _note_marks(
        self, note: Callable[..., Operation], acks: Sequence[Ack], span: Span, report: AckReport | None
    ) -> list[Operation]:
        """Record a mark for each ack; another one without an answer if a request was carried out twice."""
        repeated = self.world.loop.actor in self.repeated
        marks: list[Operation] = []
        for ack in acks:
            args, answer = (_item(ack), ack.outcome), [] if report is None else [_verdict(report, ack)]
            name = "mark" if answer in ([], [Verdict.ACCEPTED]) else "refused"
            marks.append(note(name, args, span, *answer))
            if repeated:
                note("mark", args, span)
        return marks

    def _listed(self, name: str, ask: Callable[..., Slice], batch: Batch, start: int, limit: int) -> Slice:
        """Record a read of each item that a page of a list covers.

        A list of failures began with the read of its batch: without a failure there, no page is read.
        """
        began = {"failed": self.read_at.get((self.world.loop.actor, batch.key))}
        span = began.get(name) or self._span()
        found = ask(batch, start, limit)
        span = self._ended(span)
        listed = {item for each in found.ranges for item in _items(each.group_id, each.first, each.last)}
        last = batch.total if found.resume is None else found.resume
        for item in range(start, last):
            self._noting(batch.key)(name, (item,), span, item in listed)
        return found

    def _client(self) -> str:
        return self.world.loop.now.name if self.world.loop.now else ""

    def _noting(self, key: BatchKey) -> Callable[..., Operation]:
        client = self._client()

        def note(name: str, args: tuple[Any, ...], span: Span, *answer: Any, **more: Any) -> Any:
            if not client:
                return None  # the harness looks on
            known = {"answer": answer[0], "ended": span.ended} if answer else {}
            return self.recorder.note(key, client, name, args, span.began, **known, **more)

        return note

    def _span(self) -> Span:
        return Span(self.recorder.tick())

    def _ended(self, span: Span) -> Span:
        return Span(span.began, self.recorder.tick())


def _items(group_id: str, first: int, last: int) -> range:
    group = GroupId.decode(group_id)
    assert group is not None
    return range(group.start + first, group.start + last + 1)


def _item(ack: Ack) -> int:
    (item,) = _items(ack.group_id, ack.first, ack.last)
    return item


def _notified(report: AckReport, batch_id: str) -> list[str]:
    """Return the caller that is reported to have completed the batch, if one is."""
    return [each.caller for each in report.completions if each.batch.batch_id == batch_id]


def _verdict(report: AckReport, ack: Ack) -> Any:
    (verdict,) = next(result.counts for result in report.results if result.ack is ack)
    return verdict


class RecordedWorld(World):
    """A run of the simulator whose trackers are recorded."""

    def __init__(self, worlds: list[RecordedWorld], recorder: Recorder, *args: Any) -> None:
        self.recorder, self.repeated = recorder, set[Actor | None]()
        worlds.append(self)
        super().__init__(*args)
        fail = self.store.fail

        def failing(request: Request, fault: Fault) -> Any:
            if fault.again:
                self.repeated.add(self.loop.actor)
            return fail(request, fault)

        self.store.fail = failing  # type: ignore[method-assign]

    def _tracker(self, page_bits: int) -> Any:
        return Recording(super()._tracker(page_bits), self.recorder, self, self.repeated)


def record(seed: int, lines: list[str] | None = None) -> Recorded:
    """Run a scenario of the simulator, and return the histories of its batches."""
    random, recorder = Random(seed), Recorder()
    drawn = draw(random)
    trace = Trace(lines) if lines is not None else None
    worlds: list[RecordedWorld] = []
    with patch.object(simulation, "World", partial(RecordedWorld, worlds, recorder)):
        outcome = simulation.play(drawn, random, RandomChoices(random), trace)
    unwind(worlds[0].loop)
    most = drawn.batches[0].max_failures
    return Recorded(recorder, outcome, step, lambda _: Model(most), READS)
