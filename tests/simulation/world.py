"""One run: the production tracker in a few processes over one unreliable store, and all who use it."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from uuid import UUID

from fanin.tracker import Added, Batch, BatchKey, Tracker
from fanin.tracker.memory import MemoryStore
from tests.simulation import junk
from tests.simulation.choices import Choices
from tests.simulation.jobs import Adding, Closing, Delivery, Job, Opening
from tests.simulation.ledger import Ledger, Message
from tests.simulation.loop import Loop
from tests.simulation.referee import Referee
from tests.simulation.scenario import AddScript, Scenario
from tests.simulation.store import UnreliableStore
from tests.simulation.trace import Trace
from tests.simulation.violation import require

NOW = datetime(2026, 3, 1, tzinfo=UTC)
STEPS_MAX = 20_000


class World:
    """*waiting* holds the jobs, and *queue* the messages, that wait for an actor."""

    def __init__(self, scenario: Scenario, random: Random, choices: Choices, trace: Trace | None) -> None:
        self.scenario, self.random, self.choices = scenario, random, choices
        self.memory = MemoryStore()
        self.referee = Referee(self.memory)
        self.loop = Loop(choices)
        self.store = UnreliableStore(self.referee, self.loop, choices, trace)
        self.trackers = [self._tracker(bits) for bits in scenario.page_bits]
        self.ledgers = [Ledger(script) for script in scenario.batches]
        self.ledger_of: dict[BatchKey, Ledger] = {}
        self.queue: list[Message] = []
        self.waiting: list[Job] = [
            Opening(self, f"opener of {ledger.script.name}", self._process(), ledger)
            for ledger in self.ledgers
            for _ in range(ledger.script.openers)
        ]

    def run(self) -> None:
        """Go on until nobody has anything left to do and every stalled copy has landed."""
        loop, stalled = self.loop, self.store.stalled
        while loop.running or self.waiting or self.queue:
            self._start()
            if stalled:
                self._land()
            if self.random.random() < 0.01:
                self.look()
            if loop.running:
                loop.step()
            require(loop.steps < STEPS_MAX, "I2", f"no end after {STEPS_MAX} steps")
        while stalled:
            self.store.land(0)

    def opened(self, ledger: Ledger, batch: Batch) -> None:
        """A batch is there: those who add to it come, and those who do not wait for them to close it."""
        if not ledger.opened(batch):
            return
        self.ledger_of[batch.key] = ledger
        for script in ledger.script.adds:
            for _ in range(script.callers):
                self.waiting.append(Adding(self, script.name, self._process(), ledger, script))
        if ledger.script.early or not ledger.unsettled:
            self._send_closers(ledger)

    def grown(self, ledger: Ledger, script: AddScript, added: Added) -> None:
        """An add was answered: its items are sent out, some of them several times."""
        if ledger.grown(script, added):
            for message in self._messages(ledger, added):
                ledger.messages.append(message)
                self.queue.extend([message] * self.random.choice(self.scenario.copies))

    def settled(self, ledger: Ledger) -> None:
        """An add came to its end; after the last, the closers come."""
        if not ledger.unsettled and not ledger.script.early:
            self._send_closers(ledger)

    def restart(self, process: int) -> None:
        """A process died, and what it knew with it."""
        self.trackers[process] = self._tracker(self.scenario.page_bits[process])

    def look(self) -> None:
        """Progress is right at any moment: what is surely done was acked, and no more was than may be."""
        for key, ledger in self.ledger_of.items():
            acked = self.referee.landed[key].bit_count()
            seen = self.trackers[0].progress(self.memory.batches[key])
            right = seen.acked <= acked <= seen.upper_bound
            require(right, "progress", f"{acked} of {ledger.script.name} are acked: {seen}")
            require(seen.exact == (seen.acked == seen.upper_bound), "progress", f"exact, or not: {seen}")

    def _tracker(self, page_bits: int) -> Tracker:
        random = self.random
        return Tracker(
            self.store,
            page_bits=page_bits,
            now=lambda: NOW,
            new_id=lambda: UUID(int=random.getrandbits(128)),
            entropy=random.randbytes,
            pause=lambda _: None,
        )

    def _process(self) -> int:
        return self.random.randrange(len(self.scenario.page_bits))

    def _start(self) -> None:
        """Let waiting work begin, as far as there is room."""
        scenario, draw = self.scenario, self.random.random
        while len(self.loop.running) < scenario.room and (self.waiting or self.queue):
            if self.loop.running and draw() >= scenario.start_rate:
                return
            if self.waiting and (not self.queue or draw() < scenario.eagerness):
                self.loop.start(self.waiting.pop(int(draw() * len(self.waiting))))
            else:
                self.loop.start(self._delivery())

    def _delivery(self) -> Delivery:
        draw, queue = self.random.random, self.queue
        parts: list[Message | junk.Junk] = []
        for _ in range(min(len(queue), 1 + int(draw() * self.scenario.fold))):
            parts.append(queue.pop(int(draw() * len(queue))))
        while draw() < self.scenario.junk_rate:
            parts.insert(int(draw() * (len(parts) + 1)), self._junk())
        names = "+".join(part.caller for part in parts if isinstance(part, Message))
        return Delivery(self, names, self._process(), parts)

    def _junk(self) -> junk.Junk:
        known = [ledger for ledger in self.ledger_of.values() if ledger.messages]
        ledger = self.random.choice(known)
        others = [key.batch_id for key in self.ledger_of if key != ledger.key]
        return junk.made_from(self.random, self.random.choice(ledger.messages), others)

    def _messages(self, ledger: Ledger, added: Added) -> list[Message]:
        """The items of an add, cut into acks of one item or of a range; a few ranges overlap."""
        (group,) = added.groups
        start, first, made = added.total - group.upto, 0, []
        while first < group.upto:
            last = min(first + self.random.randrange(self.scenario.longest), group.upto - 1)
            caller = f"{ledger.script.name[0]}{start + first}-{start + last}"
            made.append(Message(ledger.key, group.id, start, first, last, caller))
            first = last + 1 if self.random.random() < 0.9 or last == first else last
        return made

    def _send_closers(self, ledger: Ledger) -> None:
        for caller in ledger.script.closers:
            self.waiting.append(Closing(self, caller, self._process(), ledger))

    def _land(self) -> None:
        place = self.choices.landing(len(self.store.stalled))
        if place is not None:
            self.store.land(place)
