"""One run: callers register, queues deliver, invocations live and die, a sweeper comes round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from fanin.errors import StoreUnavailable
from fanin.grouper import Grouper, NewTask, Task, TaskMessage, TaskState, Timing
from fanin.grouper import World as Effects
from tests.simulating.faults import Crash
from tests.simulating.loop import Actor, Loop
from tests.simulating.violation import require
from tests.simulation_grouper.network import Network, RemoteApi, RemoteNotifier, RemoteQueue, remote_store
from tests.simulation_grouper.outside import Api, Listeners, Queues, Sent
from tests.simulation_grouper.referee import Referee
from tests.simulation_grouper.scenario import (
    LEASE,
    LONGER,
    START,
    TICK,
    Scenario,
    Wanted,
    drawn_skew,
    policies,
)

TENANT = "t"
SWEEP_EVERY = timedelta(seconds=15)
STEPS_MAX = 20_000
SWEEPS_MAX = 6
OVERDUE = 2 * LONGER * LEASE
"""The time without progress after which a bundle or task of either target is overdue."""


class World:
    """Everything that takes part in a run."""

    sweeping = True
    """Whether a sweeper comes round."""
    kept = Timing()
    """How long tasks are kept: here longer than any run."""

    def __init__(self, scenario: Scenario, random: Random, lines: list[str] | None) -> None:
        self.scenario, self.random = scenario, random
        self.loop = Loop(START)
        self.referee = Referee(scenario, random, lambda: self.loop.at)
        self.network = Network(scenario, random, self.loop, lines)
        self.queues = Queues(self.loop)
        self.api = Api(scenario, random, self.referee)
        self.listeners = Listeners(self.referee)
        self.remote_api = RemoteApi(self.network, self.api, self.loop)
        self.remote_listeners = RemoteNotifier(self.network, self.listeners)
        self.grouper = self._grouper()
        self.events: Counter[str] = Counter()
        self.woken = 0
        self.final_sweeps = 0
        self.final_sweep_at = START
        self._duplicates = scenario.duplicates
        self._sweep_at = START + SWEEP_EVERY
        self._arrivals = [(START + task.at, task, 0) for task in scenario.tasks for _ in range(task.callers)]
        self._serial = 0

    @property
    def calm(self) -> bool:
        """Whether nothing goes wrong in this run."""
        return self.only_lags and self.scenario.calm

    @property
    def only_lags(self) -> bool:
        """Whether nothing goes wrong in this run, except by lagging indexes."""
        return self.scenario.only_lags and not self.network.struck

    def has_expired(self, task: Task) -> bool:
        """Return whether time to live may have taken the task or its bundle: here nothing expires."""
        return False

    def check_expired(self) -> None:
        """Ask for what is not stored any more; here everything is."""

    def run(self) -> None:
        """Go on until nothing is left to do, and a sweep finds nothing either."""
        while self._go_on():
            require(self.loop.steps < STEPS_MAX, "B3", f"no end after {STEPS_MAX} steps")

    def _go_on(self) -> bool:
        loop, random = self.loop, self.random
        self.referee.catch_up()
        self._let_expire()
        self._arrive()
        runnable, visible = loop.runnable(), self.queues.visible()
        if not runnable and not visible:
            return self._jump()
        if self.network.stalled and random.random() < 0.05:
            self.network.land(random.randrange(len(self.network.stalled)))
        if random.random() < 0.35:
            loop.at += TICK
        if runnable and (not visible or random.random() < 0.75):
            loop.switch(random.choice(runnable))
        else:
            self._deliver(random.choice(visible))
        return True

    def _let_expire(self) -> None:
        """Here nothing lasts for so long that it expires."""

    def _jump(self) -> bool:
        """Go to the next moment at which something happens; False where nothing ever will."""
        moments = [actor.wake for actor in self.loop.running]
        moments += [sent.visible_at for sent in self.queues.sent]
        moments += [at for at, _, _ in self._arrivals] + [row[0] for row in self.referee.lagging[:1]]
        if moments:
            self.loop.at = max(self.loop.at + TICK, min(moments))
            return True
        if self.network.stalled:
            self.network.land(0)
            return True
        return self._sweep_at_last()

    def _sweep_at_last(self) -> bool:
        """Sweep for what was lost, until a sweep finds nothing and did not come too early for anything."""
        if not self.sweeping or self.final_sweeps >= SWEEPS_MAX:
            return False
        if self.final_sweeps and not self.woken and not self._came_early():
            return False
        self.final_sweeps += 1
        self.woken = 0
        self.loop.at += OVERDUE + SWEEP_EVERY + timedelta(seconds=2 * self.scenario.skew)
        self.final_sweep_at = self.loop.at
        self._start("sweeper", self._sweep)
        return True

    def _came_early(self) -> bool:
        """Whether a task or bundle was not overdue by the slowest clock when the last final sweep began.

        A backoff, up to 32 s, and the time after which it is overdue can be longer than the time between two
        final sweeps.
        """
        slowest = self.final_sweep_at - timedelta(seconds=self.scenario.skew)
        bundles = [b for b in self.referee.bundles.values() if not b.is_void and not b.state.ended]
        waiting = [max(b.created_at, b.call_until or b.not_before or b.created_at) for b in bundles]
        tasks = [t for t in self.referee.stored_tasks.values() if t.state is TaskState.CREATED]
        waiting += [task.due_at + self.scenario.policy.max_delay for task in tasks]
        return any(at + OVERDUE > slowest for at in waiting)

    def _arrive(self) -> None:
        """Callers come, and the sweeper when it is time."""
        due = [arrival for arrival in self._arrivals if arrival[0] <= self.loop.at]
        for arrival in due:
            self._arrivals.remove(arrival)
            self._start(f"caller of {arrival[1].task_id}", lambda a=arrival: self._register(a[1], a[2]))
        if self.sweeping and self.loop.at >= self._sweep_at:
            self._sweep_at = self.loop.at + SWEEP_EVERY
            self._start("sweeper", self._sweep)

    def _register(self, wanted: Wanted, failures: int) -> None:
        payload = {"id": wanted.task_id, "use": wanted.use}
        new_task = NewTask(payload, wanted.target, wanted.task_id, wanted.priority)
        try:
            self.grouper.register(TENANT, new_task)
        except (StoreUnavailable, Crash):
            if failures + 1 < wanted.patience:
                self._arrivals.append((self.loop.at + timedelta(seconds=1), wanted, failures + 1))

    def _sweep(self) -> None:
        try:
            swept = self.grouper.sweep()
        except (StoreUnavailable, Crash):
            self.woken += 1
            self.final_sweeps = max(0, self.final_sweeps - 1)  # another comes round, and faults run out
            return
        self.woken += swept.lanes + swept.bundles

    def _deliver(self, sent: Sent) -> None:
        if not self.queues.receive(sent):
            return
        copies = 1
        if self._duplicates and self.random.random() < 0.15:
            self._duplicates -= 1
            copies = 2
        for _ in range(copies):
            self._start(self._name(sent), lambda: self._work(sent))

    def _work(self, sent: Sent) -> None:
        try:
            if isinstance(sent.message, TaskMessage):
                self.grouper.lead(sent.message)
            else:
                self.grouper.handle(sent.message, self.remote_api, self.remote_listeners)
            self.loop.others_first()
        except (StoreUnavailable, Crash):
            self.queues.returned += 1
            return
        self.queues.delete(sent)

    def _start(self, name: str, work: Callable[[], None]) -> None:
        self._serial += 1
        skew = drawn_skew(self.random, self.scenario.skew)
        self.loop.start(Actor(f"{self._serial} {name}", self.loop.at, skew), work)

    def _name(self, sent: Sent) -> str:
        if isinstance(sent.message, TaskMessage):
            return f"leader for {sent.message.key.task_id}"
        return f"handler of {sent.message.key.bundle_id[:4]}"

    def _grouper(self) -> Grouper:
        scenario = self.scenario
        timing = replace(self.kept, rounds=scenario.rounds, chunk=scenario.chunk)
        return Grouper(
            Effects(
                store=remote_store(self.network, self.referee),
                queue=RemoteQueue(self.network, self.queues),
                policies=policies(scenario.policy),
                timing=timing,
                now=self._now,
                new_id=self._new_id,
                jitter=self.random.random,
                pause=lambda seconds: self.loop.sleep(timedelta(seconds=seconds)),
            )
        )

    def _now(self) -> datetime:
        return self.loop.clock()

    def _new_id(self) -> str:
        self._serial += 1
        return f"id-{self._serial}"
