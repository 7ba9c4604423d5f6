"""What actors do: open, add, close, deliver acks. Each goes on trying until it is answered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from fanin.errors import BatchEnded, Conflict, InvalidRequest, NotFound, StoreUnavailable
from fanin.tracker import Batch, BatchKey, Completion, OpenBatch, Outcome, PageMasks, State, Verdict
from fanin.tracker.rules.lifecycle import CHECK_CHILD_AFTER
from tests.simulating.faults import Crash
from tests.simulating.violation import require
from tests.simulation import answers, looking
from tests.simulation.junk import Junk
from tests.simulation.ledger import Asked, Ledger, Message
from tests.simulation.scenario import ASKED, TENANT, AddScript

if TYPE_CHECKING:
    from tests.simulation.world import World


SWEEPS = 6
"""How often a sweeper comes where the clock goes from edge to edge."""


@dataclass(slots=True)
class Job(ABC):
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

    @abstractmethod
    def work(self) -> None:
        """Do it; StoreUnavailable and Crash are failures that the actor expects."""

    def failed(self) -> None:
        self.world.waiting.append(self)


@dataclass(slots=True)
class Opening(Job):
    """A caller that opens a batch; *remaining*: how often it opens it again under the key, however late."""

    ledger: Ledger
    remaining: int = 0

    def work(self) -> None:
        tracker, key = self.world.trackers[self.process], self.ledger.script.open_key
        try:
            batch = tracker.open(TENANT, self._spec(), key)
        except InvalidRequest:
            self.world.orphaned(self.ledger)
            return
        except BatchEnded as refusal:
            batch = self.world.ended(BatchKey(TENANT, refusal.batch_id), refusal)
        except Conflict:
            self.world.childless(self.ledger)
            return
        self.world.opened(self.ledger, batch)
        if self.remaining:
            self.world.waiting.append(replace(self, remaining=self.remaining - 1))

    def _spec(self) -> OpenBatch:
        script = self.ledger.script
        return OpenBatch(
            user_key=script.name,
            mode=script.mode,
            retention=script.retention,
            expected_items=script.expected,
            deadline=script.deadline,
            max_failures=script.max_failures,
            max_failure_percent=script.max_failure_percent,
            failure_sample=script.failure_sample,
            min_succeeded=script.min_succeeded,
            min_succeeded_percent=script.min_succeeded_percent,
            max_items=script.max_items,
            parent_item_id=self.ledger.parent_item,
            parent_fails_on=script.fails_on if self.ledger.parent_item else "failed",
        )


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
        except BatchEnded as refusal:
            self.ledger.too_late(self.script, self.world.ended(key, refusal))
        except Conflict:
            self.ledger.fenced(self.script, self.world.memory.batches[key])
        except NotFound:
            self.world.check_gone(key)
            self.ledger.abandoned(self.script)
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
        notified = set(self.ledger.notified)
        key = self.ledger.key
        before = answers.Moment.of(self.world, [key])
        try:
            closed = self.world.trackers[self.process].close(TENANT, key.batch_id, self.name)
        except NotFound:
            self.world.check_gone(key)
            return
        except BatchEnded as refusal:
            batch = self.world.ended(key, refusal)
            require(batch.state is not State.COMPLETE, "close", f"{key} is complete, and was not closed")
            return
        except Conflict:
            self._refused()
            return
        self.ledger.closed(self.name, closed)
        stable = closed.completed_by_caller or self.name not in notified
        require(stable, "I3", f"{self.name} was notified, and the next time it was not")
        self._check_failures(closed.batch, before)
        is_closed = {key: replace(batch, state=State.CLOSED) for key, batch in before.batches.items()}
        if before.batches[key].total == closed.batch.total:
            answers.check_successes(self.world, replace(before, batches=is_closed), key, 0)

    def _check_failures(self, batch: Batch, before: answers.Moment) -> None:
        """A close of a batch that had too many failures by then ends it."""
        referee = self.world.referee
        borne, unhealed = referee.borne(batch), before.healed[batch.key] == referee.healed[batch.key]
        enough = borne is not None and before.failures[batch.key] >= borne
        right = not (batch.is_alive and enough and unhealed)
        require(right, "max failures", f"{batch.key} goes on with {before.failures[batch.key]} failures")

    def _refused(self) -> None:
        """Too few items were added: come again while more may come."""
        expected = self.ledger.script.expected
        require(expected is not None, "I2", f"{self.name} was refused, and no number of items was announced")
        if self.ledger.unsettled:
            self.world.waiting.append(self)

    def failed(self) -> None:
        self.world.tried_again(self)


@dataclass(slots=True)
class Cancelling(Job):
    """A caller that wants no more of a batch; if it *cascades*, nor of the batches below it.

    Such a caller comes late, when there are batches below.
    """

    ledger: Ledger
    cascades: bool = False
    early: int = 0

    def work(self) -> None:
        key = self.ledger.key
        if self.early and self._is_early():
            self.world.waiting.append(replace(self, early=self.early - 1))
            return
        try:
            tracker = self.world.trackers[self.process]
            batch = tracker.cancel(TENANT, key.batch_id, ASKED, children=self.cascades)
        except NotFound:
            self.world.check_gone(key)
        except BatchEnded as refusal:
            batch = self.world.ended(key, refusal)
            require(batch.state is not State.CANCELLED, "cancel", f"{key} was cancelled, and it was refused")
        else:
            right = batch.state is State.CANCELLED and batch.cancels_children >= self.cascades
            require(right, "cancel", f"{key} was cancelled and is {batch.state}")

    def _is_early(self) -> bool:
        """Whether no batch below is live that a sweep has looked at."""
        batches, below = self.world.memory.batches, self.world.referee.children[self.ledger.key]
        children = [batches[key] for keys in below.values() for key in keys]
        soon = self.world.at + 2 * CHECK_CHILD_AFTER
        checks = [child.next_check_at for child in children if child.is_alive]
        return not any(check is not None and check > soon for check in checks)

    def failed(self) -> None:
        self.world.tried_again(self)


@dataclass(slots=True)
class Emptying(Job):
    """A caller that closes a batch to which it adds nothing, so that it is complete."""

    key: BatchKey

    def work(self) -> None:
        try:
            self.world.trackers[self.process].close(TENANT, self.key.batch_id, self.name)
        except NotFound:
            self.world.check_gone(self.key)
        except BatchEnded as refusal:
            self.world.ended(self.key, refusal)
        except Conflict:
            expected = self.world.memory.batches[self.key].expected_items
            require(bool(expected), "expected", f"{self.key} was not closed, and expects {expected} items")

    def failed(self) -> None:
        self.world.tried_again(self)


@dataclass(slots=True)
class Sweeping(Job):
    """The schedule's sweeper; one that dies is not repeated, the next one comes by itself."""

    remaining: int = SWEEPS

    def work(self) -> None:
        self.remaining -= 1
        if self.remaining and self.world.scenario.edges:
            self.world.waiting.append(replace(self))
        self.world.trackers[self.process].sweep()
        longest = self.world.trackers[self.process].longest_open()
        require(longest >= timedelta(0), "sweep", f"the oldest batch is {longest} old")

    def failed(self) -> None:
        pass


@dataclass(slots=True)
class Reading(Job):
    """A reader of a batch while others change it; without an answer, it does not ask again."""

    ledger: Ledger

    def work(self) -> None:
        looking.read(self.world, self.world.trackers[self.process], self.ledger)

    def failed(self) -> None:
        pass


@dataclass(slots=True)
class Announcing(Job):
    """An ending event that the bus brings to the one who notes that it has it."""

    key: BatchKey

    def work(self) -> None:
        batch = self.world.store.get(self.key)
        ended = batch is not None and not batch.is_alive
        require(ended, "events", f"an event of {self.key} came, and it has not ended")
        if batch is not None:
            self.world.trackers[self.process].confirm(batch)


@dataclass(slots=True)
class Delivery(Job):
    """A handful of messages, of whichever batches, acked in one request, some junk among them."""

    parts: Sequence[Message | Junk]
    messages: list[Message] = field(init=False)
    asked: Asked = field(init=False)
    batches: list[BatchKey] = field(init=False)

    def __post_init__(self) -> None:
        self.messages = [part for part in self.parts if isinstance(part, Message)]
        self.asked = Asked()
        for message in self.messages:
            self.asked.take(message)
        self.batches = list(dict.fromkeys(message.batch for message in self.messages))

    def work(self) -> None:
        world = self.world
        notified = {batch: set(world.ledger_of[batch].notified) for batch in self.batches}
        for message in self.messages:
            world.ledger_of[message.batch].attempted += message.ack.size
        before = answers.Moment.of(world, self.batches)
        report = world.trackers[self.process].ack(TENANT, [part.ack for part in self.parts])
        answers.check(world, before, self.parts, report.results)
        for result, part in zip(report.results, self.parts, strict=True):
            if isinstance(part, Message):
                world.ledger_of[part.batch].accepted += result.counts.get(Verdict.ACCEPTED, 0)
        for batch in self.batches:
            found = [one for one in report.completions if one.batch.key == batch]
            self._check_notified(world.ledger_of[batch], found, notified[batch])

    def failed(self) -> None:
        self.world.redeliver(self.messages)

    def _check_notified(self, ledger: Ledger, found: list[Completion], notified: set[str]) -> None:
        """Which callers of this batch are notified now: the same as were *notified* before."""
        callers = {message.caller for message in self.messages if message.batch == ledger.key}
        for completion in found:
            ledger.named(callers, completion.caller, completion.batch)
        batch = self.world.memory.batches[ledger.key]
        gone = self.world.is_past(batch.expires_at)
        unstable = callers & notified and not found and not gone
        require(not unstable, "I3", f"{callers & notified} was notified, and the next time it was not")


@dataclass(slots=True)
class Folding(Delivery):
    """A handful of messages of exact batches, folded to masks of pages before they are acked."""

    def work(self) -> None:
        for key in self.batches:
            pages, before = self._folded(key), answers.Moment.of(self.world, [key])
            failures = self.world.referee.failures[key]
            results = self.world.trackers[self.process].ack_pages(TENANT, key.batch_id, pages, self.name)
            counts = sum((Counter(page.counts) for page in results), Counter())
            self.world.ledger_of[key].accepted += counts[Verdict.ACCEPTED]
            items = sum(masks.mask.bit_count() for masks in pages.values())
            require(counts.total() == items, "I6", f"{items} items of {key} were answered {counts}")
            batch = self.world.memory.batches[key]
            if batch.is_alive and counts.total() == counts[Verdict.ACCEPTED] + counts[Verdict.DUPLICATE]:
                self._check_failures(batch, before, failures, sum(page.failed for page in results))

    def _check_failures(self, batch: Batch, before: answers.Moment, known: int, fresh: int) -> None:
        """What succeeded is no failure; and a request that adds one too many to the *known* ones ends it."""
        key, referee = batch.key, self.world.referee
        good = self.asked.masks.get((key, Outcome.SUCCESS), 0)
        still = good & referee.failed[key]
        require(not still, "failures", f"{good:b} of {key} succeeded, and {still:b} of it is still failed")
        unhealed = fresh and before.healed[key] == referee.healed[key]
        borne = referee.borne(before.batches[key])  # as it was when the request began: it may close meanwhile
        enough = unhealed and borne is not None and known + fresh >= borne
        require(not enough, "max failures", f"{fresh} more of {key} failed after {known}, and it goes on")

    def _folded(self, key: BatchKey) -> dict[int, PageMasks]:
        width = self.world.memory.batches[key].page_bits
        good, bad = (self.asked.masks.get((key, outcome), 0) for outcome in Outcome)
        last = (good | bad).bit_length() // width
        cut = [
            (n, PageMasks(*(mask >> n * width & (1 << width) - 1 for mask in (good, bad))))
            for n in range(last + 1)
        ]
        return {number: masks for number, masks in cut if masks.mask}
