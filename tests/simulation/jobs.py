"""What actors do: open, add, close, deliver acks. Each goes on trying until it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fanin.errors import Conflict, StoreUnavailable
from fanin.tracker import BatchKey, Completion, OpenBatch, Result, Verdict
from tests.simulation.faults import Crash
from tests.simulation.junk import Junk
from tests.simulation.ledger import Ledger, Message
from tests.simulation.scenario import AddScript
from tests.simulation.violation import require

if TYPE_CHECKING:
    from tests.simulation.world import World

TENANT = "t"
TRUE = {Verdict.ACCEPTED, Verdict.DUPLICATE}


@dataclass(slots=True)
class Job:
    """One thing to do, in one of the processes; done again after a failure, like a message of a queue."""

    world: World
    name: str
    process: int

    def run(self) -> None:
        try:
            self.work()
        except StoreUnavailable:
            self.failed()
        except Crash:
            self.world.restart(self.process)
            self.failed()

    def work(self) -> None:
        raise NotImplementedError

    def failed(self) -> None:
        self.world.waiting.append(self)


@dataclass(slots=True)
class Opening(Job):
    """A caller that opens a batch."""

    ledger: Ledger

    def work(self) -> None:
        script = self.ledger.script
        wish = OpenBatch(user_key=script.name)
        self.world.opened(self.ledger, self.world.trackers[self.process].open(TENANT, wish, script.open_key))


@dataclass(slots=True)
class Adding(Job):
    """A caller that adds items, under a key or without; it may lose its patience."""

    ledger: Ledger
    script: AddScript
    failures: int = 0

    def work(self) -> None:
        tracker, key = self.world.trackers[self.process], self.ledger.key
        try:
            added = tracker.add(TENANT, key.batch_id, self.script.count, self.script.key)
        except Conflict:
            self.ledger.fenced(self.script, self.world.memory.batches[key].state)
        else:
            self.world.grown(self.ledger, self.script, added)
        self.world.settled(self.ledger)

    def failed(self) -> None:
        self.failures += 1
        if self.failures == self.script.patience:
            self.ledger.abandoned(self.script)
            self.world.settled(self.ledger)
        else:
            self.world.waiting.append(self)


@dataclass(slots=True)
class Closing(Job):
    """A caller that closes a batch; several may do so under the same token."""

    ledger: Ledger

    def work(self) -> None:
        told = set(self.ledger.told)
        closed = self.world.trackers[self.process].close(TENANT, self.ledger.key.batch_id, self.name)
        self.ledger.closed(self.name, closed)
        stable = closed.completed_by_caller or self.name not in told
        require(stable, "I3", f"{self.name} was told, and the next time it was not")


@dataclass(slots=True)
class Delivery(Job):
    """A handful of messages, of whichever batches, acked in one request, some junk among them."""

    parts: Sequence[Message | Junk]
    messages: list[Message] = field(init=False)
    asked: dict[BatchKey, int] = field(init=False)

    def __post_init__(self) -> None:
        self.messages = [part for part in self.parts if isinstance(part, Message)]
        self.asked = {}
        for message in self.messages:
            self.asked[message.batch] = self.asked.get(message.batch, 0) | message.mask

    def work(self) -> None:
        told = {batch: set(self.world.ledger_of[batch].told) for batch in self.asked}
        report = self.world.trackers[self.process].ack(TENANT, [part.ack for part in self.parts])
        check_verdicts(report.results, self.parts)
        for result, part in zip(report.results, self.parts, strict=True):
            if isinstance(part, Message):
                self.world.ledger_of[part.batch].accepted += result.counts.get(Verdict.ACCEPTED, 0)
        for batch in self.asked:
            found = [one for one in report.completions if one.batch.key == batch]
            self._heard(self.world.ledger_of[batch], found, told[batch])

    def failed(self) -> None:
        self.world.queue.extend(self.messages)

    def _heard(self, ledger: Ledger, found: list[Completion], told: set[str]) -> None:
        """Who of this batch's callers was told now, and whether those were who had been *told* before."""
        callers = {message.caller for message in self.messages if message.batch == ledger.key}
        for completion in found:
            ledger.heard(callers, completion.caller, completion.batch)
        unstable = callers & told and not found
        require(not unstable, "I3", f"{callers & told} was told, and the next time it was not")


def check_verdicts(results: Sequence[Result], parts: Sequence[Message | Junk]) -> None:
    """A true item is accepted or a duplicate; junk gets its verdict and no other."""
    for result, part in zip(results, parts, strict=True):
        if isinstance(part, Message):
            right = TRUE.issuperset(result.counts) and sum(result.counts.values()) == result.ack.size
        else:
            right = result.counts == {part.verdict: part.ack.size}
        require(right and result.ack == part.ack, "I6", f"{part} was answered {result}")
