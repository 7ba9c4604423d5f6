"""A bundle's message: call the downstream API once, record the outcome, apply it to each member.

The outcome is written down before it is applied: whoever repeats the rest finds the same outcome, and only
finishes what is left of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from fanin.calling import done
from fanin.grouper import rules
from fanin.grouper.downstream import Answer, Call, Downstream, Member
from fanin.grouper.limiting import Limiter
from fanin.grouper.messages import BundleMessage, Posting, TaskMessage, waiting_copy
from fanin.grouper.model import Bundle, BundleState, Outcome, Task, TaskKey, TaskState, Verdict
from fanin.grouper.notices import Notifier
from fanin.grouper.policy import Policy
from fanin.grouper.rules import Step
from fanin.grouper.world import World

USED_UP = Outcome(Verdict.RETRY, "every attempt at the bundle was used up")
STEPS = 4


class HandledAs(StrEnum):
    """How a bundle's message ended."""

    SETTLED = "settled"
    WAITING = "waiting"
    LIMITED = "limited"
    DROPPED = "dropped"
    RETRIED = "retried"
    APPLIED = "applied"


@dataclass(frozen=True, slots=True)
class Handled:
    """What happened on a bundle's message, for logs and metrics."""

    handled_as: HandledAs
    bundle: Bundle | None = None
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Handler:
    """Answers bundle messages."""

    world: World
    downstream: Downstream
    notifier: Notifier

    def handle(self, message: BundleMessage) -> Handled:
        """Bring the message's bundle a step on. Safe to repeat; StoreUnavailable where something is unknown,
        and then the message has to come again."""
        bundle = self.world.store.bundle(message.key)
        for _ in range(STEPS):
            policy = self.world.policies.of(bundle.lane.target) if bundle else Policy()
            step, wait = rules.next_step(bundle, policy, self.world.now())
            if bundle is None or step is Step.NOTHING:
                return Handled(HandledAs.SETTLED, bundle)
            if step is Step.WAIT:
                return self._wait(message, wait, HandledAs.WAITING)
            if step is Step.APPLY:
                return self._apply(bundle, policy)
            if step is Step.CALL:
                return self._begin(message, bundle, policy)
            bundle = self._decide(bundle, policy, Answer(USED_UP)) or bundle
        return self._wait(message, timedelta(seconds=1), HandledAs.WAITING)

    def _begin(self, message: BundleMessage, bundle: Bundle, policy: Policy) -> Handled:
        """Take a token, then the bundle; wait where either is not to be had."""
        wait = Limiter(self.world).take(bundle.lane, policy)
        if wait:
            return self._wait(message, wait, HandledAs.LIMITED)
        until = self.world.now() + self.world.timing.call
        facts = {"attempt": bundle.attempt + 1, "owner": self.world.new_id(), "call_until": until}
        calling = bundle.turned(BundleState.CALLING, not_before=None, **facts)
        if self.world.store.replace_bundle(calling) != calling:
            return self._wait(message, timedelta(seconds=1), HandledAs.WAITING)
        return self._call(message, calling, policy)

    def _call(self, message: BundleMessage, bundle: Bundle, policy: Policy) -> Handled:
        """The call, repeated in place as the policy has it, and what follows from its answer."""
        answer = self._answer(bundle)
        first = bundle.attempt
        for repeat in range(policy.in_place):
            again = self._again(bundle, policy, answer, repeat)
            if again is None:
                break
            bundle, answer = again, self._answer(again)
        calls = bundle.attempt - first + 1
        decided = self._decide(bundle, policy, answer)
        if decided is not None and decided.state is BundleState.APPLYING:
            return replace(self._apply(decided, policy), calls=calls)
        if decided is not None:
            return Handled(HandledAs.SETTLED, decided, calls)
        return replace(self._put_back(message, bundle, answer), calls=calls)

    def _answer(self, bundle: Bundle) -> Answer:
        """Call the API with the members' payloads. Left out are those that were deleted, or registered anew,
        since they expired: state decides, no clock, so that the same tasks are settled afterwards."""
        stored = [task for task in self._tasks(bundle).values() if _is_in(task, bundle)]
        members = tuple(Member(task.task_id, json.loads(task.payload)) for task in stored)
        if not members:
            return Answer()
        lane = bundle.lane
        call = Call(lane.tenant, lane.target, bundle.bundle_id, bundle.attempt, members)
        return done(self.downstream.call(call), "call")

    def _again(self, bundle: Bundle, policy: Policy, answer: Answer, repeat: int) -> Bundle | None:
        """The bundle at its next attempt, in place; None where that is not to be."""
        whole_retry = not answer.members and answer.whole.verdict is Verdict.RETRY
        rest = answer.retry_after or rules.backoff(repeat, self.world.jitter)
        ends_at = self.world.now() + rest + self.world.timing.call / 2
        too_late = bundle.call_until is None or ends_at > bundle.call_until
        if not whole_retry or too_late or bundle.attempt >= policy.max_attempts:
            return None
        self.world.pause(rest.total_seconds())
        if Limiter(self.world).take(bundle.lane, policy):
            return None
        again = bundle.turned(BundleState.CALLING, attempt=bundle.attempt + 1)
        return again if self.world.store.replace_bundle(again) == again else None

    def _decide(self, bundle: Bundle, policy: Policy, answer: Answer) -> Bundle | None:
        """Write the outcome down: the bundle as stored; None where it is to be called again."""
        outcomes = rules.verdicts(bundle, answer.whole, answer.members, policy.max_attempts)
        if outcomes is None:
            return None
        return self.world.store.replace_bundle(bundle.turned(BundleState.APPLYING, outcomes=outcomes))

    def _put_back(self, message: BundleMessage, bundle: Bundle, answer: Answer) -> Handled:
        """The bundle rests, and comes back through the queue."""
        rest = answer.retry_after or rules.backoff(bundle.attempt, self.world.jitter)
        resting = bundle.turned(BundleState.READY, not_before=self.world.now() + rest, call_until=None)
        stored = self.world.store.replace_bundle(resting)
        if stored == resting:
            copy = replace(waiting_copy(message), swept=False)
            self.world.queue.send([Posting(copy, rules.seconds(rest))])
        return Handled(HandledAs.RETRIED, stored)

    def _apply(self, bundle: Bundle, policy: Policy) -> Handled:
        """Bring each member where the outcome sends it, tell of those that ended, then end the bundle."""
        tasks = [self._settle(bundle, task, policy) for task in self._tasks(bundle).values()]
        ended = [task for task in tasks if task and task.state.ended and task.bundle_id == bundle.bundle_id]
        if ended:
            self.notifier.notify(ended)
        back = [task for task in tasks if task and task.state is TaskState.CREATED]
        if back:
            self.world.queue.send([self._posting(task) for task in back])
        done = bundle.turned(rules.ended_state(bundle), call_until=None)
        return Handled(HandledAs.APPLIED, self.world.store.replace_bundle(done))

    def _settle(self, bundle: Bundle, task: Task, policy: Policy) -> Task | None:
        if not _is_in(task, bundle):
            return task
        rest = rules.backoff(task.attempts, self.world.jitter)
        wanted = rules.after(task, bundle, policy, self.world.timing, self.world.now(), rest)
        return self.world.store.settle(wanted, bundle.bundle_id)

    def _posting(self, task: Task) -> Posting:
        return Posting(TaskMessage(task.key), rules.seconds(task.due_at - self.world.now()))

    def _tasks(self, bundle: Bundle) -> dict[TaskKey, Task]:
        """The members that are stored, in the order of the bundle."""
        keys = [TaskKey(bundle.tenant, member) for member in bundle.members]
        stored = self.world.store.tasks(keys)
        return {key: stored[key] for key in keys if key in stored}

    def _wait(self, message: BundleMessage, wait: timedelta, why: HandledAs) -> Handled:
        """A copy waits in the message's place; the message itself is done."""
        if message.swept:
            return Handled(HandledAs.DROPPED)
        spread = timedelta(seconds=self.world.jitter() * min(2**message.waits, rules.LONGEST_WAIT))
        delay = max(1, rules.seconds(wait + spread if why is HandledAs.LIMITED else wait))
        self.world.queue.send([Posting(waiting_copy(message), delay)])
        return Handled(why)


def _is_in(task: Task, bundle: Bundle) -> bool:
    """Whether the bundle's outcome is for this task."""
    return task.state is TaskState.BUNDLED and task.bundle_id == bundle.bundle_id
