"""For each case, a tracker that is right but for one rule: the suite must find it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from fanin_conformance import Added, Answer, Delivery, Span
from tests.conformance.reference import Batch, Reference, Rows

PAUSE_SECONDS = 0.003
_is_done, _end = Reference.is_done, Reference.end


def changed(name: str, **rules: Any) -> type[Reference]:
    """Return the reference with other rules."""
    return type(name, (Reference,), rules)


def _is_full_at_ten(batch: Batch) -> bool:
    return batch.state == "open" and batch.total == 10 and batch.outstanding == 0


class ReportsToBoth(Reference):
    """The completion is decided after the request: all that see a full batch meanwhile report it."""

    def acked(self, items: Sequence[str], token: str, failed: bool) -> Answer:
        with self.lock:
            self.work += self.cost_of_ack(items[0])
            verdicts = tuple(self.verdict(item, failed) for item in items)
            batch = self.batches.get(items[0].split(":")[0])
            before = batch.state if batch else ""
        if batch is None or "accepted" not in verdicts or len(verdicts) != verdicts.count("accepted"):
            with self.lock:
                found = [each for each in {item.split(":")[0] for item in items} if each in self.batches]
                completions = [each for name in found for each in self.completion(self.batches[name], token)]
            return Answer(tuple(completions), verdicts)
        time.sleep(PAUSE_SECONDS)
        with self.lock:
            if before == "closed" and batch.outstanding == 0:
                self.completion(batch, token)
                batch.completed_by = token
            return Answer(self.completion(batch, token), verdicts)


class LosesTheCompletion(Reference):
    """The close counts before it stores that it is closed, and an ack between the two finds it open."""

    def close(self, batch: str, token: str | None = None) -> Answer:
        with self.one_request():
            found = self.batch(batch)
            outstanding = found.outstanding
        if outstanding:
            time.sleep(PAUSE_SECONDS)
        with self.one_request():
            was_open = found.state == "open"
            if outstanding and was_open and not found.outstanding:
                found.state = "complete"
                return Answer()
        return super().close(batch, token)


class AddChecksFirst(Reference):
    """The check for a closed batch is a request of its own, and a close comes between it and the add."""

    def close(self, batch: str, token: str | None = None) -> Answer:
        time.sleep(PAUSE_SECONDS / 2)  # beyond the 0 to 1 ms by which a race is apart: the check comes first
        return super().close(batch, token)

    def add(self, batch: str, count: int, token: str | None = None) -> Added:
        with self.one_request():
            was_open = batch in self.batches and self.batches[batch].state == "open"
        if was_open and self.batches[batch].total == 1:
            time.sleep(PAUSE_SECONDS)
            with self.lock:
                state, self.batches[batch].state = self.batches[batch].state, "open"
                try:
                    return super().add(batch, count, token)
                finally:
                    self.batches[batch].state = state
        return super().add(batch, count, token)


class AddsTwice(Reference):
    def add_token(self, token: str | None) -> str:
        return super().add_token(None)


class GroupsOfAnyBatch(Reference):
    def rows(self, batch: Batch, group: str) -> Rows | None:
        found = (each.groups[group] for each in self.batches.values() if group in each.groups)
        return next(found, None)


class IndexesWrap(Reference):
    def index(self, text: str, size: int) -> int | None:
        return int(text) % 2**32 % size if text.isascii() and text.isdigit() else None


class NoVerdicts(Reference):
    def acked(self, items: Sequence[str], token: str, failed: bool) -> Answer:
        answer = super().acked(items, token, failed)
        is_mixed = len({item.split(":")[0] for item in items}) > 1
        return Answer(answer.completions, None if is_mixed else answer.verdicts)


class CreatesUnknown(Reference):
    def close(self, batch: str, token: str | None = None) -> Answer:
        if batch not in self.batches:
            self.batches[batch] = Batch(batch, None, None, None, None, self.now)
        return super().close(batch, token)


class ForgetsWhoCompleted(Reference):
    def acked(self, items: Sequence[str], token: str, failed: bool) -> Answer:
        answer = super().acked(items, token, failed)
        return answer if "accepted" in (answer.verdicts or ()) else Answer((), answer.verdicts)


class NoRepair(Reference):
    def ack_and_crash(self, items: Sequence[str]) -> None:
        with self.lock:
            for item in items:
                self.verdict(item, failed=False)

    def sweep(self) -> None:
        with self.lock:
            for batch in self.batches.values():
                if batch.deadline is not None and batch.deadline < self.now:
                    self.end(batch, "timed_out")


class CrashWithoutEvent(Reference):
    def deliveries(self, batch: str, count: int, seconds: float) -> Sequence[Delivery]:
        return [each for each in super().deliveries(batch, count, seconds) if each.kind != "completed"]


class FewFailures(Reference):
    def failures(self, batch: str) -> Sequence[Span]:
        return [Span(span.group, span.first, min(span.last, 1599)) for span in super().failures(batch)]


class NoMissingItems(Reference):
    def end(self, batch: Batch, state: str) -> None:
        super().end(batch, state)
        batch.events = [Delivery(each.kind, each.id, ()) for each in batch.events]


class ScansForEachAck(Reference):
    def cost_of_ack(self, item: str) -> float:
        batch = self.batches.get(item.partition(":")[0])
        return 0.001 * batch.total if batch else 0.001


class DearDuplicates(Reference):
    def cost_of_ack(self, item: str) -> float:
        batch = self.batches.get(item.partition(":")[0])
        return 0.09 if batch and batch.state == "complete" else 0.001


class CancelsTwice(Reference):
    def end(self, batch: Batch, state: str) -> None:
        super().end(batch, state)
        if state == "cancelled":
            batch.events.append(Delivery("completed", f"{batch.id}:complete"))


class ConsecutiveIds(Reference):
    def new_id(self) -> str:
        return str(1000 + len(self.batches) + sum(len(each.groups) for each in self.batches.values()))

    def rows(self, batch: Batch, group: str) -> Rows | None:
        return super().rows(batch, group) or next(iter(batch.groups.values()), None)


class OpenDoor(Reference):
    @contextmanager
    def one_request(self) -> Iterator[None]:
        with self.lock:
            yield


BROKEN: dict[type[Reference], set[str]] = {
    changed("ClosedAtOnce", is_closed=lambda self, batch: True): {"T1"},
    changed("EmptyNeverCompletes", is_done=lambda self, batch: _is_done(self, batch) and batch.total > 0): {
        "T2"
    },
    changed(
        "CompletesEarly",
        is_done=lambda self, batch: (
            batch.state == "closed" and batch.outstanding <= (100 if batch.total == 1000 else 0)
        ),
    ): {"T3"},
    changed(
        "CompletesWhileOpen", is_done=lambda self, batch: _is_done(self, batch) or _is_full_at_ten(batch)
    ): {"T5"},
    changed(
        "AddsAfterClose", check_open=lambda self, batch: batch.total == 3 or Reference.check_open(self, batch)
    ): {"T7"},
    changed("CutsTheKey", user_key=lambda self, batch: batch.user_key and batch.user_key[:100]): {"T8"},
    ReportsToBoth: {"T9", "T11"},
    LosesTheCompletion: {"T10"},
    AddChecksFirst: {"T14"},
    changed("ReportsAgain", is_reported_to=lambda self, batch, token: True): {"T12"},
    AddsTwice: {"T15"},
    changed("OpensTwice", open_token=lambda self, token: uuid4().hex): {"T16"},
    GroupsOfAnyBatch: {"T17"},
    IndexesWrap: {"T18"},
    changed(
        "NegativeIndexes",
        index=lambda self, text, size: size - 1 if text == "-1" else Reference.index(self, text, size),
    ): {"T18"},
    NoVerdicts: {"T19"},
    CreatesUnknown: {"T20"},
    changed("AddsNothing", check_count=lambda self, count: count and Reference.check_count(self, count)): {
        "T21"
    },
    ForgetsWhoCompleted: {"T23"},
    NoRepair: {"T24"},
    CrashWithoutEvent: {"T24"},
    changed("FailuresHang", is_done=lambda self, batch: _is_done(self, batch) and not batch.failed): {
        "T25",
        "T27",
    },
    changed("FailuresAreSuccess", is_success=lambda self, batch: True): {"T25"},
    FewFailures: {"T27"},
    changed("ExpiresActive", touch=lambda self, batch: None): {"T28"},
    NoMissingItems: {"T29"},
    changed("NoSweep", sweep=lambda self: None): {"T24", "T29", "T30"},
    changed(
        "EmptyNeverEnds",
        end=lambda self, batch, state: (batch.total or state == "complete") and _end(self, batch, state),
    ): {"T30"},
    ScansForEachAck: {"T31"},
    DearDuplicates: {"T31"},
    changed("ForgetsTheExpected", check_expected=lambda self, batch: None): {"T34"},
    changed("CancelIsNoEnd", cancel=lambda self, batch: self.batch(batch) and None): {"T36"},
    CancelsTwice: {"T36"},
    changed("PagesOfTwo", outstanding=lambda self, batch: Reference.outstanding(self, batch)[:2]): {"T37"},
    changed("SlowList", cost_of_list=lambda self, batch: 1.5): {"T37"},
    ConsecutiveIds: {"T17", "T38"},
    OpenDoor: {"T38"},
}
"""The cases that each fails, and no other."""
