"""One run: the production tracker in a few processes over one unreliable store, and all who use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from fanin.errors import BatchEnded
from fanin.tracker import Added, Batch, BatchKey, ItemId, Mode, Outcome, State, Tracker
from fanin.tracker.memory import MemoryStore
from tests.simulating.expiry import TimeToLive
from tests.simulating.violation import require
from tests.simulation import junk, looking
from tests.simulation.bindings import clients_of
from tests.simulation.choices import Choices
from tests.simulation.clocks import Clocks
from tests.simulation.jobs import (
    TENANT,
    Adding,
    Announcing,
    Cancelling,
    Closing,
    Delivery,
    Emptying,
    Folding,
    Job,
    Opening,
    Reading,
    Sweeping,
)
from tests.simulation.ledger import Ledger, Message
from tests.simulation.loop import Loop
from tests.simulation.referee import Referee, is_good
from tests.simulation.replica import Replica
from tests.simulation.scenario import AddScript, Scenario
from tests.simulation.store import UnreliableStore
from tests.simulation.trace import Trace

NOW = datetime(2026, 3, 1, tzinfo=UTC)
STEPS_MAX = 20_000
EARLY = 30
"""How often one who cancels a batch with those below it comes too early."""
LATEST = timedelta(seconds=5)
"""No stalled copy is older than that when it lands."""
LATE_DELETION = 5 * 24 * 3600.0
"""Seconds after which TTL has deleted a row, if it does."""
KEPT = frozenset({"batches", "names", "tokens"})


class World:
    """*waiting* holds the jobs, and *queue* the messages, that wait for an actor."""

    def __init__(self, scenario: Scenario, random: Random, choices: Choices, trace: Trace | None) -> None:
        self.scenario, self.random, self.choices = scenario, random, choices
        self.at = NOW
        self.memory = MemoryStore()
        self.referee = Referee(self.memory, self.now, scenario.skew)
        self.loop = Loop(choices)
        replica = Replica(self.memory, random, scenario.lag)
        self.store = UnreliableStore(self.referee, replica, self.loop, choices, trace)
        self.processes = len(scenario.page_bits)
        self.clocks = Clocks(random, self.now, scenario.skew)
        self.machines = [self.clocks.new() for _ in scenario.page_bits]
        self.trackers = [self._tracker(process) for process in range(self.processes)]
        expires = scenario.slow or scenario.keys
        self.table = TimeToLive.draw(random, ahead=0.0, late=LATE_DELETION) if expires else None
        self.ledgers = [Ledger(script) for script in scenario.batches]
        self.ledger_of: dict[BatchKey, Ledger] = {}
        self.queue: list[Message] = []
        self.waiting: list[Job] = []
        for ledger in self.ledgers:
            self._send_openers(ledger)
        for number in range(scenario.sweepers):
            self.waiting.append(Sweeping(self, f"sweeper {number}", self._process()))
        self.waiting += clients_of(self, scenario.keys)

    def now(self) -> datetime:
        """Return the true time."""
        return self.at

    def is_past(self, at: datetime) -> bool:
        """Whether a time has come on the clock of some process."""
        return at <= self.at + self.scenario.skew

    def is_ahead(self, at: datetime) -> bool:
        """Whether a time is still to come on the clock of each process."""
        return not self.is_past(at)

    def run(self) -> None:
        """Go on until no job has anything left to do and every stalled copy has landed."""
        loop, stalled = self.loop, self.store.stalled
        while loop.running or self.waiting or self.queue or stalled:
            self._start()
            if stalled:
                self._land()
            if not self.scenario.is_basic:
                self.clocks.pass_time()
                self._pass_time()
                self._bring_events()
            if self.random.random() < 0.01:
                self.look()
            if loop.running:
                loop.step()
            require(loop.steps < STEPS_MAX, "I2", f"no end after {STEPS_MAX} steps")

    def opened(self, ledger: Ledger, batch: Batch) -> None:
        """A batch is there: those who add to it come, and those who do not wait for them to close it.

        One that a key stands for after the first is left to itself, so that it expires, or is closed empty.
        """
        again = bool(ledger.opened_as)
        last = ledger.opened(batch)
        if last is not None:
            self._opened_again(ledger, last, batch)
        if again:
            return
        self.ledger_of[batch.key] = ledger
        for number in range(ledger.script.cancellers):
            name = f"{ledger.script.name}-canceller-{number}"
            cascades = ledger.script.cascades and number == ledger.script.cancellers - 1
            early = EARLY if cascades else 0
            self.waiting.append(Cancelling(self, name, self._process(), ledger, cascades, early))
        for number in range(self.scenario.readers):
            self.waiting.append(Reading(self, f"reader {number}", self._process(), ledger))
        for script in ledger.script.adds:
            for _ in range(script.callers):
                self.waiting.append(Adding(self, script.name, self._process(), ledger, script))
        if ledger.script.early or not ledger.unsettled:
            self._send_closers(ledger)

    def _opened_again(self, ledger: Ledger, last: Batch, batch: Batch) -> None:
        self._check_over_for_good(last.key)
        if self.random.random() < 0.5:
            self.waiting.append(Emptying(self, f"{ledger.script.name} again", self._process(), batch.key))

    def grown(self, ledger: Ledger, script: AddScript, added: Added) -> None:
        """An add was answered: its items are sent out, some of them several times."""
        if ledger.grown(script, added):
            self._send_children(ledger, script, added)
            for message in self._messages(ledger, added, script.parents):
                ledger.messages.append(message)
                self.queue.extend([message] * self.random.choice(self.scenario.copies))

    def settled(self, ledger: Ledger) -> None:
        """An add came to its end; after the last, the closers come."""
        if not ledger.unsettled and not ledger.script.early:
            self._send_closers(ledger)

    def restart(self, process: int) -> None:
        """A process died, and what it knew with it."""
        self.trackers[process] = self._tracker(process)

    def look(self) -> None:
        """All that can be asked is answered rightly at any moment."""
        for ledger in self.ledger_of.values():
            looking.check(self, ledger)

    def orphaned(self, ledger: Ledger) -> None:
        """A batch was refused as the child of another, which must be gone then."""
        require(ledger.parent_item is not None, "I8", f"{ledger.script.name} was refused")
        self.check_gone(BatchKey(TENANT, ItemId.parse(ledger.parent_item or "").batch_id))

    def ended(self, key: BatchKey, refusal: BatchEnded) -> Batch:
        """Return the batch of *key*; a request was refused because it has ended, and that is true."""
        batch = self.memory.batches[key]
        seen, stored = (refusal.batch_id, refusal.state), (key.batch_id, batch.state)
        right = seen == stored or batch.state is State.EXPIRED
        require(right, "ended", f"{key} is {batch.state}, and a request was refused because {refusal}")
        return batch

    def childless(self, ledger: Ledger) -> None:
        """A batch was refused as the child of an item, which takes none: it, or its batch, is over."""
        require(ledger.parent_item is not None, "children", f"{ledger.script.name} was refused")
        parent, item = self.referee.item_of(TENANT, ledger.parent_item or "")
        over = not self.memory.batches[parent].is_alive or self.referee.is_over(parent, item)
        require(
            over, "children", f"{ledger.script.name} was refused, and {item} of {parent} waits for others"
        )

    def check_gone(self, key: BatchKey) -> None:
        """A caller was answered that a batch is not there."""
        batch = self.memory.batches[key]
        gone = batch.state is State.EXPIRED or self.is_past(batch.expires_at)
        require(gone, "expiry", f"{key} is {batch.state} until {batch.expires_at}, and was not found")

    def _check_over_for_good(self, key: BatchKey) -> None:
        """I8: a key stands for a new batch once the last one is over, or a child that failed its item."""
        batch = self.memory.batches[key]
        over = batch.state is State.EXPIRED or (not batch.is_alive and self.is_past(batch.expires_at))
        over = over or (batch.parent_item_id is not None and not (batch.is_alive or is_good(batch)))
        require(
            over, "I8", f"{key} is {batch.state} until {batch.expires_at}, and its key stands for another"
        )

    def tried_again(self, job: Job) -> None:
        """A caller that got no answer asks again, if it is one of those that do."""
        if self.random.random() < self.scenario.redelivered:
            self.waiting.append(job)

    def redeliver(self, messages: list[Message]) -> None:
        """Messages that were not dealt with come again, if the queue is one that brings them again."""
        again = self.scenario.redelivered
        self.queue.extend(m for m in messages if again == 1.0 or self.random.random() < again)

    def tracker(
        self, page_bits: int, fresh_for: timedelta, clock: Callable[[], datetime] | None = None
    ) -> Tracker:
        """A new process; without a *clock* of its own, it has the true time."""
        random = self.random
        return Tracker(
            self.store,
            page_bits=page_bits,
            fresh_for=fresh_for,
            now=clock or self.now,
            new_id=lambda: UUID(int=random.getrandbits(128)),
            entropy=random.randbytes,
            pause=lambda _: None,
        )

    def _tracker(self, process: int) -> Tracker:
        scenario = self.scenario
        return self.tracker(scenario.page_bits[process], scenario.fresh_for, self.machines[process])

    def expire(self) -> None:
        """Let TTL delete rows, of which those of batches and of their keys stay: see afterlife."""
        if self.table is not None:
            rows = {row: at.timestamp() for row, at in self.memory.expiring.items() if row[0] not in KEPT}
            self.memory.delete_expired(self.at, set(self.table.due(rows, self.at.timestamp())).__contains__)

    def _pass_time(self) -> None:
        """The clock goes on; what is under way in the network for long lands before that."""
        if self.random.random() >= self.scenario.tick_rate:
            return
        if self.scenario.edges:
            self._pass_time_until(self._next_edge())
            return
        step = timedelta(milliseconds=int(self.random.random() * self.scenario.tick.total_seconds() * 1000))
        self._pass_time_until(self.at + step)

    def _pass_time_until(self, at: datetime) -> None:
        while at - self.at > LATEST and self.store.stalled:
            self.store.land(0)
        self.at = at
        self.expire()

    def _next_edge(self) -> datetime:
        """The next time at which a look is due, or a moment before it."""
        due = [
            b.next_check_at
            for b in self.memory.batches.values()
            if b.next_check_at is not None and b.next_check_at > self.at
        ]
        early = timedelta(milliseconds=1) if self.random.random() < 0.5 else timedelta(0)
        return max(self.at, min(due) - early) if due else self.at

    def _bring_events(self) -> None:
        """The stream brings ending events to the bus, which loses some of them."""
        for key in self.referee.to_bus:
            if self.random.random() >= self.scenario.deaf:
                self.waiting.append(Announcing(self, "the bus", self._process(), key))
        self.referee.to_bus.clear()

    def _process(self) -> int:
        return self.random.randrange(len(self.scenario.page_bits))

    def _start(self) -> None:
        """Let waiting work begin, as far as there is room."""
        scenario, draw = self.scenario, self.random.random
        while len(self.loop.running) < scenario.room and (self.waiting or self.queue):
            if self.loop.running and draw() >= scenario.start_rate:
                return
            if self.waiting and (not self.queue or draw() < scenario.eagerness):
                self.loop.begin(self.waiting.pop(int(draw() * len(self.waiting))))
            else:
                self.loop.begin(self._delivery())

    def _delivery(self) -> Delivery:
        draw, queue = self.random.random, self.queue
        parts: list[Message | junk.Junk] = []
        for _ in range(min(len(queue), 1 + int(draw() * self.scenario.fold))):
            parts.append(queue.pop(int(draw() * len(queue))))
        while draw() < self.scenario.junk_rate:
            parts.insert(int(draw() * (len(parts) + 1)), self._junk())
        names = "+".join(part.caller for part in parts if isinstance(part, Message))
        folded = [part for part in parts if isinstance(part, Message) and part.folded]
        if not folded:
            return Delivery(self, names, self._process(), parts)
        queue.extend(part for part in parts if isinstance(part, Message) and not part.folded)
        return Folding(self, f"folded {names}", self._process(), folded)

    def _junk(self) -> junk.Junk:
        known = [ledger for ledger in self.ledger_of.values() if ledger.messages]
        ledger = self.random.choice(known)
        others = [key.batch_id for key in self.ledger_of if key != ledger.key]
        return junk.made_from(self.random, self.random.choice(ledger.messages), others)

    def _messages(self, ledger: Ledger, added: Added, sent: int) -> list[Message]:
        """The items of an add but the first *sent*, cut into acks of one item or of a range.

        A few ranges overlap where a repeated ack changes nothing, and some items are acked twice: as failed
        and as done, in whatever order.
        """
        (group,) = added.groups
        start, first, messages = added.total - group.upto, sent, []
        sloppy = ledger.script.mode is Mode.EXACT
        while first < group.upto:
            last = min(first + self.random.randrange(self.scenario.longest), group.upto - 1)
            caller = f"{ledger.script.name[0]}{start + first}-{start + last}"
            folds = sloppy and self.scenario.folded and self.random.random() < self.scenario.folded
            message = Message(ledger.key, group.id, start, first, last, caller, folded=bool(folds))
            messages += self._outcomes(message) if self.scenario.failing else [message]
            overlaps = sloppy and self.random.random() >= 1 - self.scenario.overlap and last > first
            first = last if overlaps else last + 1
        return messages

    def _outcomes(self, message: Message) -> list[Message]:
        """A message as it is, as a failure, or both."""
        if self.random.random() >= self.scenario.failing:
            return [message]
        failed = replace(message, outcome=Outcome.FAILURE, caller=f"{message.caller}-failed")
        both = (
            self.ledger_of[message.batch].script.mode is Mode.EXACT
            and self.random.random() < self.scenario.both
        )
        return [message, failed] if both else [failed]

    def _send_openers(self, ledger: Ledger) -> None:
        name = f"opener of {ledger.script.name}"
        copies = self.scenario.reopened if ledger.script.open_key else 0
        for _ in range(ledger.script.openers):
            self.waiting.append(Opening(self, name, self._process(), ledger, copies))

    def _send_children(self, ledger: Ledger, script: AddScript, added: Added) -> None:
        """The first items of an add stand for batches of their own."""
        for index, child in enumerate(script.children):
            item = ItemId(ledger.key.batch_id, added.groups[0].id, index // script.siblings)
            self.ledgers.append(Ledger(child, parent_item=str(item)))
            self._send_openers(self.ledgers[-1])

    def _send_closers(self, ledger: Ledger) -> None:
        for caller in ledger.script.closers:
            self.waiting.append(Closing(self, caller, self._process(), ledger))

    def _land(self) -> None:
        """One of the stalled copies lands, if its time has come."""
        stalled = self.store.stalled
        place = self.choices.landing(len(stalled)) if self.loop.running else 0
        if place is not None:
            self.store.land(place)
