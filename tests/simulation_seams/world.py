"""One run: publishers, consumers, owners of items, events and a sweeper over one unreliable store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, partial
from random import Random
from typing import Any
from uuid import UUID

from fanin.client.consuming.adapter import Adapter
from fanin.client.consuming.consumer import handler_of
from fanin.client.consuming.records import dead_letter_message_ack
from fanin.client.fanin import Fanin
from fanin.errors import StoreUnavailable
from fanin.isolating import Record
from fanin.local.emulator_patches.lineage import Chain
from fanin.tracker import Ack, Tracker
from fanin.tracker.memory import MemoryStore
from tests.simulating import loop
from tests.simulating.faults import Crash
from tests.simulating.violation import require
from tests.simulation.clocks import Clocks
from tests.simulation.replica import Replica
from tests.simulation_seams.bus import Bus
from tests.simulation_seams.handlers import Handling
from tests.simulation_seams.network import Network
from tests.simulation_seams.operator import Operator
from tests.simulation_seams.outside import Outside, Owner
from tests.simulation_seams.publishing import Publisher, items_of
from tests.simulation_seams.referee import Referee
from tests.simulation_seams.reporting import report
from tests.simulation_seams.results import Readers
from tests.simulation_seams.scenario import POISON, START, Scenario
from tests.simulation_seams.sqs import Message, Queue, require_in_order
from tests.simulation_seams.tables import Tables
from tests.simulation_seams.thresholds import Thresholds
from tests.simulation_seams.transport import transport_of
from tests.simulation_seams.webhooks import Webhook
from tests.simulation_seams.workers import ASKED, FROZEN, WorkerProcess
from tests.simulation_seams.workers import KILLED as KILLED_WORKER
from tests.simulation_seams.workflows import Workflows

TIMEOUT = timedelta(seconds=20)
VISIBILITY = 6 * TIMEOUT
SWEEP_EVERY = timedelta(minutes=1)
STEPS_MAX = 60_000
ROUNDS_MAX = 1000
KILLED = "killed"
"""How a process that is killed at a moment of its own is counted."""


@dataclass(eq=False, slots=True)
class Thread:
    """What the client notes of a thread, as ``under_work._Thread``."""

    call: Any = None


@dataclass(eq=False)
class Actor(loop.Actor):
    """Work under way: a thread of *process*, with the call that runs in it, and the *delivery* it works on.

    *killed_at*: when the process is killed, if it is. *acking*: the acks of its request in progress.
    """

    killed_at: datetime | None = None
    place: Thread = field(default_factory=Thread)
    process: Process | None = None
    delivery: Delivery | None = None
    acking: Sequence[Ack] = ()

    def is_killed_by(self, at: datetime) -> bool:
        """Whether its process has ended by a time."""
        died = self.process is not None and self.process.has_died
        return died or (self.killed_at is not None and self.killed_at <= at)


class Process:
    """One process: a tracker with its cache, and the client over it.

    *calls*: of functions, in all of its threads. *busy*: how many of them work on a delivery. *begun*: the
    messages on which work began. *for_good*: the messages and items whose functions failed them for good.
    """

    def __init__(self, world: World) -> None:
        self.calls: dict[int, Any] = {}
        self.returned: dict[str, Any] = {}
        self.deliveries: dict[int, Any] = {}
        self.owned: dict[str, int] = {}
        self.begun: set[str] = set()
        self.for_good: set[tuple[str, str]] = set()
        self.busy = 0
        self.has_died = False
        self.tracker = world.tracker()
        self.fanin = Fanin(transport_of(world, self.tracker))
        self.world = world

    @cached_property
    def handling(self) -> Handling:
        """The consumer of the process, if it has one."""
        return Handling(self.world, self.fanin)


@dataclass(eq=False, slots=True)
class Delivery:
    """The messages of a consumer's invocation, and its context. *free_at*: when the last work ended.

    *stopped*: the message groups of a FIFO queue of which a message will return.
    """

    world: World
    records: list[Record]
    received_at: datetime
    last_at: datetime
    free_at: datetime
    stopped: set[str] = field(default_factory=set)

    def get_remaining_time_in_millis(self) -> int:
        return int((self.last_at - self.world.loop.at).total_seconds() * 1000)


class World:
    """Everything that takes part in a run."""

    def __init__(self, scenario: Scenario, random: Random, lines: list[str] | None) -> None:
        self.scenario, self.random = scenario, random
        self.loop = loop.Loop(START)
        self.memory = MemoryStore()
        self.clocks = Clocks(random, self.now, scenario.skew)
        self.referee = Referee(self.memory, self.now, scenario.fresh_for, scenario.skew)
        self.network = Network(scenario, random, self.loop, lines)
        self.outside = self.referee.outside = Outside(scenario, random, self.memory, self.now)
        replica = Replica(self.memory, random, scenario.lag)
        self.store = self.network.remote(Tables(self.referee.apply, replica))
        self.bus = self.referee.bus = Bus(self)
        self.thresholds = self.referee.thresholds = Thresholds(self)
        self.workflows = Workflows(self.network, self.memory.batches)
        self.dead_letter_queue = Queue("dead", random, self.now, VISIBILITY, deleted=self._deleted)
        self.queue, self.chunks = self._queue("work"), self._queue("chunks")
        self.hooks = Queue("webhooks", random, self.now, VISIBILITY)
        self.webhook = Webhook(self)
        self.queues = (self.queue, self.chunks, self.dead_letter_queue, self.hooks)
        self.events: Counter[str] = Counter()
        self.processes: list[Process] = []
        self.slots, self.names = scenario.slots, 0
        self.duplicates, self.kills = scenario.duplicates, scenario.kills
        self.operator = Operator(self)
        self.readers = Readers(self)
        self.sweep_at = START + SWEEP_EVERY
        self.freezes = scenario.freezes
        self.workers: list[WorkerProcess] = []
        self.late: set[str] = set()
        self.at_work: dict[str, Process] = {}
        self.later: list[tuple[datetime, str, Callable[[], None]]] = []
        self.rounds = 0
        for script in scenario.batches:
            self.start(f"publisher of {script.name}", Publisher(self, script).run)

    def _queue(self, name: str) -> Queue:
        """Return a queue of items, whose dead-letter queue is that of all."""
        receives, dead = self.scenario.max_receives, self.dead_letter_queue
        judged = (self._sent, self._deleted, self._died)
        queue = Queue(name, self.random, self.now, VISIBILITY, receives, dead, *judged, self.scenario.loops)
        queue.in_order, queue.taken = self.scenario.in_order, self._taken
        return queue

    def now(self) -> datetime:
        return self.loop.at

    @property
    def chain(self) -> Chain:
        """The chain of what the running actor sends."""
        return self.loop.actor.chain if self.loop.actor else Chain()

    @property
    def under_work(self) -> dict[int, Any]:
        """The calls of functions in the running actor's process."""
        return {} if self._process is None else self._process.calls

    @property
    def returned(self) -> dict[str, Any]:
        """Those whose acks are not sent."""
        return {} if self._process is None else self._process.returned

    @property
    def deliveries(self) -> dict[int, Any]:
        """The deliveries in progress in the running actor's process."""
        return {} if self._process is None else self._process.deliveries

    @property
    def owned(self) -> dict[str, int]:
        """The items that got an owner while they were in progress."""
        return {} if self._process is None else self._process.owned

    @property
    def is_calm(self) -> bool:
        """Whether nothing goes wrong with requests and processes."""
        drawn, poisoned = self.scenario, self.events["poisoned"]
        faulty = drawn.fault_rate or drawn.kills or drawn.freezes or drawn.duplicates or poisoned
        return not faulty and drawn.tick < timedelta(seconds=1)

    @property
    def _process(self) -> Process | None:
        return self.loop.actor.process if self.loop.actor else None

    def run(self) -> None:
        """Go on until nothing is left to do, every batch has ended, and the bus has every event."""
        for _ in range(STEPS_MAX):
            if not self._go_on():
                return
        require(False, "liveness", f"no end after {STEPS_MAX} steps")

    def process(self) -> Process:
        """Return a new process."""
        return Process(self)

    def tracker(self) -> Tracker:
        """Return the tracker of a new process."""
        return Tracker(
            self.bus.announcing(self.store) if self.scenario.at_once else self.store,
            page_bits=self.scenario.page_bits,
            fresh_for=self.scenario.fresh_for,
            now=self.clocks.new(),
            new_id=self.new_id,
            entropy=self.random.randbytes,
            pause=lambda _: self.loop.sleep(timedelta(milliseconds=10)),
            results=self.readers.results(),
        )

    def new_id(self) -> UUID:
        return UUID(int=self.random.getrandbits(128), version=4)

    def start(self, name: str, work: Callable[[], None], **facts: Any) -> None:
        """Let an actor begin to work."""
        self.names += 1
        self.loop.start(Actor(f"{self.names} {name}", self.loop.at, **facts), work)

    def after(self, seconds: float, name: str, work: Callable[[], None]) -> None:
        """Start an actor later."""
        self.later.append((self.loop.at + timedelta(seconds=seconds), name, work))

    def spend(self, seconds: float) -> None:
        """Let the running actor work for so long, unless its process is killed before."""
        until, actor = self.loop.at + timedelta(seconds=seconds), self.loop.actor
        if actor.killed_at is not None and actor.killed_at <= until:
            self.loop.sleep(max(actor.killed_at - self.loop.at, timedelta(0)))
            raise Crash
        self.loop.sleep(until - self.loop.at)
        if actor.is_killed_by(self.loop.at):
            raise Crash

    def attempt(self, work: Callable[[], object], again: Callable[[], None]) -> None:
        """Do *work* in a process; call *again* if a request failed or the process crashed."""
        try:
            work()
        except (StoreUnavailable, Crash):
            again()

    def _go_on(self) -> bool:
        loop, random = self.loop, self.random
        self.clocks.pass_time()
        self._begin_what_is_due()
        runnable = loop.runnable()
        if self.network.stalled and random.random() < 0.05:
            self.network.land(random.randrange(len(self.network.stalled)))
        can_deliver = bool(self._deliverable())
        if not runnable and not can_deliver:
            return self._jump()
        if random.random() < 0.3:
            loop.at += self.scenario.tick
        if runnable and (not can_deliver or random.random() < 0.7):
            loop.switch(random.choice(runnable))
        else:
            self._deliver()
        return True

    def _jump(self) -> bool:
        """Go to the next moment at which something happens; False if nothing ever will."""
        moments = [actor.wake for actor in self.loop.running]
        moments += [at for at, _, _ in self.later]
        moments += [owner.ends_at for owner in self.outside.owners.values() if owner.outcome is None]
        if self.slots > 0:
            moments += [at for queue in self.queues for at in queue.visible_later()]
        if moments:
            self.loop.at = max(self.loop.at, min(moments))
            self.sweep_at = min(self.sweep_at, self.loop.at + SWEEP_EVERY)
            return True
        if self.network.stalled:
            self.network.land(0)
            return True
        return self._sweep_at_last()

    def _sweep_at_last(self) -> bool:
        """All is quiet: read what can be read, then go to the next check that is due, and sweep."""
        if self.readers.come_at_last():
            return True
        due = self._checks()
        if not due:
            return False
        self.rounds += 1
        require(self.rounds < ROUNDS_MAX, "liveness", f"something is due after {ROUNDS_MAX} sweeps")
        self.loop.at = self.sweep_at = max(self.loop.at, min(due) + self.scenario.skew)
        return True

    def _checks(self) -> list[datetime]:
        """Return the times of the next checks of all batches."""
        return [batch.next_check_at for batch in self.memory.batches.values() if batch.next_check_at]

    def _begin_what_is_due(self) -> None:
        now = self.loop.at
        if self.later:
            for entry in [entry for entry in self.later if entry[0] <= now]:
                self.later.remove(entry)
                self.start(entry[1], entry[2])
        for owner in self.outside.ending():
            self.events[f"{owner.kind} {owner.outcome}"] += 1
            self._report(owner)
        self.bus.publish(self.referee.to_bus)
        self.referee.to_bus.clear()
        if now >= self.sweep_at:
            self.sweep_at = now + SWEEP_EVERY
            if any(at <= now for at in self._checks()):
                self.start("sweeper", lambda: self.attempt(self._sweep, lambda: None))
        self.operator.come()
        self.readers.come()

    def _report(self, owner: Owner) -> None:
        """Report the end of a task or job, again after a failure, as its queue or outbox does."""

        def again() -> None:
            self.after(30, "report", partial(self.attempt, work, again))

        def work() -> None:
            report(self.tracker(), owner)
            owner.reported = True

        self.start(f"report of {owner.name[:14]}", partial(self.attempt, work, again))

    def _sweep(self) -> None:
        owed = [] if self.scenario.lag else list(self.thresholds.owed())
        if not self.tracker().sweep().failed:
            self.thresholds.check(owed)

    def _deliver(self) -> None:
        """Start a consumer with the messages of a delivery, and another one with a copy now and then."""
        queue = self.random.choice(self._deliverable())
        if self._is_worked(queue):
            self._start_worker(queue)
            return
        records = queue.receive(self.random.randint(1, self.scenario.fold))
        if not records:
            return
        self._consume(queue, records)
        if self.duplicates and self.random.random() < 0.2:
            self.duplicates -= 1
            record = queue.again(self.random.choice(records))
            if record is not None:
                self._consume(queue, [record])

    def _deliverable(self) -> list[Queue]:
        """Return the queues with messages for which a consumer can be started."""
        is_free = len(self.workers) < self.scenario.workers
        waiting = (queue for queue in self.queues if (is_free if self._is_worked(queue) else self.slots > 0))
        return [queue for queue in waiting if queue.visible()]

    def _is_worked(self, queue: Queue) -> bool:
        """Whether workers outside of Lambda work on a queue."""
        return bool(self.scenario.workers) and queue in (self.queue, self.chunks)

    def _start_worker(self, queue: Queue) -> None:
        event = self._worker_event()
        event_at = self.loop.at + timedelta(seconds=self.random.random() * 200)
        self.events[f"worker {event}" if event else "workers"] += 1
        self.workers.append(WorkerProcess(self, queue, Process(self), event, event_at))
        self.workers[-1].start()

    def _worker_event(self) -> str | None:
        """Draw what happens to a worker."""
        drawn = self.random.random()
        if self.scenario.alone or drawn > 0.6:
            return None
        if drawn < 0.2:
            return ASKED
        if drawn < 0.4 and self.kills:
            self.kills -= 1
            return KILLED_WORKER
        if self.freezes:
            self.freezes -= 1
            return FROZEN
        return None

    def delivery_of(self, record: Record) -> Delivery:
        """Return the delivery of a message that a worker starts to work on."""
        return Delivery(self, [record], self.loop.at, self.loop.at + TIMEOUT, self.loop.at)

    def _taken(self, message: Message) -> None:
        """W: a message stays hidden while it is under work."""
        held = self.is_calm and message.id in self.at_work
        require(not held, "lease", lambda: f"{message} is received again while it is under work")

    def _consume(self, queue: Queue, records: list[Record]) -> None:
        now, chain = self.loop.at, queue.chain_of(records)
        if chain is None:
            self.events["stopped loops"] += 1
            return
        last_at = killed_at = now + TIMEOUT
        if self.kills and self.random.random() < 0.2:
            self.kills -= 1
            self.network.faults[KILLED] += 1
            killed_at = now + timedelta(seconds=self.random.random() * 3)
        self.slots -= 1
        delivery = Delivery(self, records, now, last_at, now)
        work = partial(self._settle, queue, delivery)
        self.start(f"{queue.name} consumer", work, killed_at=killed_at, chain=chain)

    def _settle(self, queue: Queue, delivery: Delivery) -> None:
        process = self._process_for(delivery)
        event = {"Records": delivery.records}
        try:
            if queue is self.hooks:
                answer = self.webhook.deliver(delivery.records)
            elif queue is self.dead_letter_queue:
                answer = self._dead_letter_handler(process)(event, delivery)
            else:
                answer = process.handling.settle(event, delivery, in_chunks=queue is self.chunks)
            failed = [each["itemIdentifier"] for each in answer["batchItemFailures"]]
            self.network.write(f"{self.loop.actor.name} returned {failed} of {len(delivery.records)}")
        except Crash:
            self.events["crashed deliveries"] += 1
            process.has_died = True
            return
        finally:
            self.slots += 1
            process.busy -= 1
        self.late.update(failed)
        self.events["returned in order"] += queue.in_order and bool(failed)
        require_in_order(delivery.records, failed)
        for message_id in queue.settle(delivery.records, failed):
            try:
                self.network.send(queue, "delete", message_id)
            except (StoreUnavailable, Crash):
                self.events["undeleted"] += 1

    def _process_for(self, delivery: Delivery) -> Process:
        """Return a process whose new thread is the running actor: an idle one, or any if it has threads."""
        self.processes = [process for process in self.processes if not process.has_died]
        free = [process for process in self.processes if not process.busy or self.scenario.threads]
        if not free:
            free = [Process(self)]
            self.processes += free
        process, actor = free[-1], self.loop.actor
        self.events["deliveries in threads"] += min(process.busy, 1)
        process.busy += 1
        actor.process, actor.delivery = process, delivery
        return process

    def _dead_letter_handler(self, process: Process) -> Callable[..., dict[str, list[dict[str, str]]]]:
        acks = transport_of(self, process.tracker)

        def hide(_: str, pauses: Mapping[str, int]) -> None:
            with suppress(StoreUnavailable):
                self.network.send(self.dead_letter_queue, "hide", pauses)

        return handler_of(Adapter(acks, ack_of=dead_letter_message_ack, hide=hide, chance=self.random.random))

    def _sent(self, message: Message) -> None:
        for item in items_of(message.body):
            self.outside.item(item).messages += 1

    def _deleted(self, message: Message) -> None:
        for item in items_of(message.body):
            self.referee.message_deleted(self.outside.item(item))

    def _died(self, message: Message) -> None:
        """Note that a message was received too often; where one item is poisoned, it is that one's.

        Another one's may be, too, if a delivery had no time left for it, which took one of its receives.
        """
        self.events["dead-letter messages"] += 1
        for item in map(self.outside.item, items_of(message.body)):
            item.dead = True
            alone = not self.scenario.alone or message.id in self.late
            alone |= item.plan.kind == POISON or self.referee.is_set(item)
            require(
                alone, "poison", lambda item=item: f"{item.id} was received too often, another is poisoned"
            )
