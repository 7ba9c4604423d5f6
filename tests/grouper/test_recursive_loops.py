"""The group-batcher on SQS and Lambda, which stops a function that its own messages invoke too often."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

from fanin.grouper import BundleMessage, Outcome, Policy, Posting, TaskMessage, TaskState, Timing, Verdict
from fanin.grouper.rules.downstream import Answer
from fanin.local.emulator_patches.lineage import INVOCATIONS_MAX, Chain
from fanin_cdk.grants.group_handlers import HANDLE_BUNDLE, LEAD_TASKS
from tests.grouper.conftest import START, Bench, Queue

HOUR = timedelta(hours=1)
SWEEP_EVERY = timedelta(minutes=1)
VISIBILITY = timedelta(minutes=3)
HANDLERS = {TaskMessage: LEAD_TASKS.lambda_, BundleMessage: HANDLE_BUNDLE.lambda_}


@dataclass(slots=True)
class Sent:
    """A message in flight, and the chain of requests that led to it."""

    due: datetime
    posting: Posting
    chain: Chain


@dataclass
class Fed(Queue):
    """Both queues, whose messages invoke functions. *stopped*: invocations that Lambda dropped."""

    chain: Chain = field(default_factory=Chain)
    messages: list[Sent] = field(default_factory=list)
    stopped: int = 0

    def send(self, postings: list[Posting]) -> None:
        self.messages += [
            Sent(self.clock.at + timedelta(seconds=each.delay), each, self.chain) for each in postings
        ]

    def next(self, until: datetime) -> TaskMessage | BundleMessage | None:
        """The message whose function is invoked next, at its time, if that comes before *until*."""
        while self.messages:
            sent = min(self.messages, key=lambda each: each.due)
            if sent.due > until:
                break
            self.clock.at = max(self.clock.at, sent.due)
            handler = HANDLERS[type(sent.posting.message)]
            if handler.loops or not sent.chain.is_loop(handler.name):
                self.messages.remove(sent)
                self.chain = sent.chain.with_invocation(handler.name)
                return sent.posting.message
            self.stopped += 1
            sent.due = self.clock.at + VISIBILITY
        return None


class Deployed(Bench):
    """The group-batcher with queues, functions and the schedule of its sweeper."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy, Timing())
        self.queue = Fed(self.clock)
        self.world = replace(self.world, queue=self.queue, jitter=Random(1).random)
        self.grouper = replace(self.grouper, world=self.world)

    def run(self, longest: timedelta) -> timedelta:
        """Return how long all tasks took to end, or *longest*."""
        while self.clock.at < START + longest and self.is_open:
            sweep_at = self.clock.at + SWEEP_EVERY
            while self.is_open and (message := self.queue.next(sweep_at)):
                self._process(message)
            self.queue.chain = Chain()
            if self.is_open:
                self.clock.at = max(self.clock.at, sweep_at)
                self.grouper.sweep()
        return self.clock.at - START

    @property
    def is_open(self) -> bool:
        return any(not task.state.ended for task in self.store.stored_tasks.values())

    def _process(self, message: TaskMessage | BundleMessage) -> None:
        if isinstance(message, TaskMessage):
            self.grouper.lead(message)
        else:
            self.grouper.handle(message, self.api, self.listener)


def test_a_burst_takes_as_long_as_the_rate_of_its_target_allows():
    bench = Deployed(Policy(max_size=1, rate=1.0))
    bench.register(*(f"task-{number}" for number in range(200)))

    assert bench.run(HOUR) < timedelta(seconds=240)
    assert bench.queue.stopped == 0


def test_a_bundle_gets_all_of_its_attempts():
    bench = Deployed(Policy(max_size=1, max_attempts=INVOCATIONS_MAX + 4))
    bench.api.says = lambda call: Answer(Outcome(Verdict.RETRY, "busy"))
    bench.register("one")

    bench.run(24 * HOUR)
    assert len(bench.api.calls) == INVOCATIONS_MAX + 4
    assert bench.task("one").state is TaskState.DEAD
    assert bench.queue.stopped == 0
