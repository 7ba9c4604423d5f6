"""What a case is run with: the adapter, the effort, and the steps that several cases share."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from fanin_conformance.adapter import Adapter, Answer, NotSupported, Refused, Span, Status

T = TypeVar("T")
LANES = 3
"""Rounds of a race that are played at a time."""
JITTER_SECONDS = 0.001
RACE_SECONDS = 60.0
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 10.0


class Broken(Exception):
    """The tracker does not do what the case demands; the text is what was seen."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much the suite does: *rounds* of each race, *items* of a very large batch, *timeout* of a case."""

    rounds: int = 200
    items: int = 1_000_000
    timeout: float = 120.0

    @property
    def race_timeout(self) -> float:
        """Seconds for a case of many rounds."""
        return self.timeout + self.rounds / 2

    @property
    def large_timeout(self) -> float:
        """Seconds for a case of many items."""
        return self.timeout + self.items / 5_000


@dataclass(slots=True)
class Trial:
    """One run of one case."""

    tracker: Adapter
    effort: Effort = field(default_factory=Effort)
    seen: list[str] = field(default_factory=list)
    """Remarks for the report."""

    def items(self, batch: str, count: int) -> list[str]:
        """Add *count* items and return their ids."""
        added = self.tracker.add(batch, count)
        ids = [
            self.tracker.item_id(batch, group.id, at) for group in added.groups for at in range(group.size)
        ]
        self.check(len(ids) == count, f"an add of {count} returned {len(ids)} items")
        return ids

    def opened(self, count: int) -> tuple[str, list[str]]:
        """Return a new batch with *count* items, and their ids."""
        batch = self.tracker.open()
        return batch, self.items(batch, count)

    def spans(self, batch: str, count: int) -> list[Span]:
        """Add *count* items and return them as spans, without making their ids."""
        return [Span(group.id, 0, group.size - 1) for group in self.tracker.add(batch, count).groups]

    def ack_all(self, items: Sequence[str], at_once: int = 100) -> list[Answer]:
        """Ack *items* in chunks; return the answers."""
        return [self.tracker.ack(items[at : at + at_once]) for at in range(0, len(items), at_once)]

    def check(self, holds: bool, otherwise: str) -> None:
        """Raise Broken with the text *otherwise* unless it *holds*."""
        if not holds:
            raise Broken(otherwise)

    def completed_once(self, batch: str, answers: Iterable[Answer], when: str = "") -> None:
        """Check that the batch is complete, and that exactly one completion is reported in *answers*."""
        found = reports(batch, answers)
        status = self.tracker.status(batch)
        state = "complete" if status.is_complete else "not complete"
        self.check(found == 1 and status.is_complete, f"{found} completions reported, {state}{when}")

    def refused(self, action: str, call: Callable[[], object], *whys: str) -> None:
        """Check that the tracker refuses the *call*, for one of the reasons."""
        try:
            answer = call()
        except Refused as refusal:
            self.check(refusal.why in whys, f"{action}: {refusal}")
        else:
            raise Broken(f"{action}: accepted ({answer!r:.80})")

    def rejected(self, item: str, *verdicts: str) -> None:
        """Check that the ack of *item* is refused, or has one of the verdicts and completes nothing."""
        try:
            answer = self.tracker.ack([item])
        except Refused as refusal:
            self.check(refusal.why in ("invalid", "not_found"), f"ack of {item}: {refusal}")
            return
        found = None if answer.verdicts is None else answer.verdicts[0]
        self.check(found in verdicts and not answer.completions, f"ack of {item}: {found or 'no verdict'}")

    def pending(self, batch: str, acked: int, after: str) -> None:
        """Check that so many items of the batch are acked, as far as the tracker shows it."""
        found = self.tracker.status(batch).acked
        self.check(found in (acked, None), f"{found} items acked instead of {acked} after {after}")

    def status_or_none(self, batch: str) -> Status | None:
        """Return the status of a batch; None if it is gone."""
        try:
            return self.tracker.status(batch)
        except Refused as refusal:
            self.check(refusal.why == "not_found", f"the status is refused: {refusal}")
            return None

    def ended(self, batch: str) -> Status | None:
        """Return the status of a batch once it has ended, None if it is gone; wait for the sweep."""
        until = time.monotonic() + self.tracker.sweep_seconds
        while (found := self.status_or_none(batch)) and not found.is_over and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        return found

    def one_event(self, batch: str, kind: str) -> Any:
        """Check that one event of the end is delivered, and no other; None if the adapter sees no events."""
        try:
            found = self.tracker.deliveries(batch, 1, PATIENCE_SECONDS)
        except NotSupported:
            self.seen.append("events not seen")
            return None
        kinds = sorted({(each.kind, each.id) for each in found})
        self.check([each for each, _ in kinds] == [kind], f"events {[each for each, _ in kinds]}, not {kind}")
        return found[0]

    def rounds(self, play: Callable[[Trial], None], share: int = 1) -> None:
        """Play a race in a part of the effort's rounds, a few at a time; count the rounds that broke."""
        count = max(1, self.effort.rounds // share)
        broken: list[str] = []

        def lane(number: int) -> None:
            for _ in range(number, count, LANES):
                try:
                    play(self)
                except Broken as error:
                    broken.append(str(error))

        together([partial(lane, number) for number in range(LANES)], self.effort.race_timeout)
        self.seen.append(f"{count:,} rounds")
        kinds = "; ".join(f"{text} ({times} times)" for text, times in Counter(broken).most_common(3))
        self.check(not broken, f"{len(broken)} of {count} rounds: {kinds}")


def reports(batch: str, answers: Iterable[Answer]) -> int:
    """Return how many completions of *batch* the answers report; one that is named counts once."""
    found = [each for answer in answers for each in answer.completions if each.batch == batch]
    return len({each.id for each in found if each.id}) + sum(each.id is None for each in found)


def together(calls: Sequence[Callable[[], T]], seconds: float = RACE_SECONDS) -> list[T]:
    """Make all *calls* at the same time, 0 to 1 ms apart, and return their answers; raise their first error.

    The threads end with the process: a call that never returns fails this one and holds nothing up.
    """
    answers: dict[int, T] = {}
    errors: list[BaseException] = []
    barrier = threading.Barrier(len(calls))

    def run(number: int) -> None:
        try:
            barrier.wait(seconds)
            time.sleep(random.uniform(0, JITTER_SECONDS))
            answers[number] = calls[number]()
        except BaseException as error:  # it is raised again below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(at,), daemon=True) for at in range(len(calls))]
    until = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    if errors:
        raise errors[0]
    if len(answers) < len(calls):
        raise Broken(f"{len(calls) - len(answers)} of {len(calls)} concurrent calls gave no answer")
    return [answers[number] for number in range(len(calls))]
