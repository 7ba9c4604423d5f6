"""Processes a bundle's message: call the batch API once, store the outcome, apply it to each member.

The outcome is stored before it is applied, so a repetition reads the same outcome and applies what is left.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from fanin.grouper.rules import protocol as rules
from fanin.grouper.rules.downstream import Answer, Call, Downstream, Member
from fanin.grouper.rules.messages import BundleMessage, Posting, TaskMessage, waiting_copy
from fanin.grouper.rules.model import (
    RATE,
    Bundle,
    BundleState,
    Lane,
    Outcome,
    Task,
    TaskKey,
    TaskState,
    Verdict,
)
from fanin.grouper.rules.notifying import Notifier, OnFailed
from fanin.grouper.rules.protocol import Step
from fanin.grouper.rules.rate import token
from fanin.grouper.settings.policy import Policy
from fanin.grouper.world import World
from fanin.user_functions import finished

TAKE_ATTEMPTS = 4
CONTENDED_WAIT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Limiter:
    """Takes tokens of a target's rate.

    A token that is taken and not used is lost; the rate is never exceeded.
    """

    world: World

    def take(self, lane: Lane, policy: Policy) -> timedelta:
        """Take a token and return 0, or return how long to wait before the next try."""
        if policy.rate is None:
            return timedelta()
        bucket = Lane(lane.tenant, lane.target, RATE)
        for _ in range(TAKE_ATTEMPTS):
            seen = self.world.store.full_at(bucket)
            taken = token(seen, policy, self.world.now())
            if taken.wait:
                return taken.wait
            if self.world.store.put_full_at(bucket, seen, taken.full_at):
                return timedelta()
        return CONTENDED_WAIT


USED_UP = Outcome(Verdict.RETRY, "every attempt at the bundle was used up")
STEPS = 4


class HandledAs(StrEnum):
    """The outcome of a bundle's message."""

    SETTLED = "settled"
    WAITING = "waiting"
    LIMITED = "limited"
    DROPPED = "dropped"
    RETRIED = "retried"
    APPLIED = "applied"


@dataclass(frozen=True, slots=True)
class Handled:
    """The result of processing a bundle's message, for logs and metrics. *calls*: made of the batch API."""

    handled_as: HandledAs
    bundle: Bundle | None = None
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Handler:
    """Processes bundle messages."""

    world: World
    downstream: Downstream
    notifier: Notifier
    on_failed: OnFailed | None = None

    def handle(self, message: BundleMessage) -> Handled:
        """Process the message of a bundle. Safe to repeat.

        Raises StoreUnavailable if the outcome of a request is unknown; deliver the message again then.
        """
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
        """Take a token of the target's rate, then the bundle, and call.

        Sends a delayed copy if no token is available or another handler took the bundle.
        """
        wait = Limiter(self.world).take(bundle.lane, policy)
        if wait:
            return self._wait(message, wait, HandledAs.LIMITED)
        until = self.world.now() + policy.call_lease
        facts = {"attempt": bundle.attempt + 1, "owner": self.world.new_id(), "call_until": until}
        calling = bundle.transition(BundleState.CALLING, not_before=None, **facts)
        if self.world.store.replace_bundle(calling) != calling:
            return self._wait(message, timedelta(seconds=1), HandledAs.WAITING)
        return self._call(message, calling, policy)

    def _call(self, message: BundleMessage, bundle: Bundle, policy: Policy) -> Handled:
        """Call the batch API, again in place as the policy allows, and process its answer."""
        answer = self._answer(bundle, policy)
        first = bundle.attempt
        for repeat in range(policy.in_place):
            again = self._again(bundle, policy, answer, repeat)
            if again is None:
                break
            bundle, answer = again, self._answer(again, policy)
        calls = bundle.attempt - first + 1
        decided = self._decide(bundle, policy, answer)
        if decided is not None and decided.state is BundleState.APPLYING:
            return replace(self._apply(decided, policy), calls=calls)
        if decided is not None:
            return Handled(HandledAs.SETTLED, decided, calls)
        return replace(self._put_back(message, bundle, answer), calls=calls)

    def _answer(self, bundle: Bundle, policy: Policy) -> Answer:
        """Call the batch API with the members' payloads.

        Leaves out members that were deleted or registered again since they expired. The stored state decides
        this and not the clock, so exactly the called tasks are settled afterwards.
        """
        stored = [task for task in self._tasks(bundle).values() if _is_in(task, bundle)]
        members = tuple(Member(task.task_id, json.loads(task.payload)) for task in stored)
        if not members:
            return Answer()
        lane = bundle.lane
        limits = policy.call_timeout, policy.longest_call
        call = Call(lane.tenant, lane.target, bundle.bundle_id, bundle.attempt, members, *limits)
        answer = finished(self.downstream.call(call), "call").about(bundle.members)
        self._keep_results(stored, answer)
        return answer

    def _keep_results(self, tasks: Sequence[Task], answer: Answer) -> None:
        """Keep the results of *tasks* with items: what is stored as a success has its result."""
        outcomes = ((task, answer.members.get(task.task_id)) for task in tasks if task.item_id)
        kept = [(task, named.result) for task, named in outcomes if named and named.result is not None]
        if kept:
            self.notifier.keep(kept)

    def _again(self, bundle: Bundle, policy: Policy, answer: Answer, repeat: int) -> Bundle | None:
        """Return the bundle at its next attempt in place, or None if no further call may be made in place."""
        whole_retry = not answer.members and answer.whole.verdict is Verdict.RETRY
        backoff = answer.retry_after or rules.backoff(repeat, self.world.jitter)
        ends_at = self.world.now() + backoff + policy.longest_call
        too_late = bundle.call_until is None or ends_at > bundle.call_until
        if not whole_retry or too_late or bundle.attempt >= policy.max_attempts:
            return None
        self.world.pause(backoff.total_seconds())
        if Limiter(self.world).take(bundle.lane, policy):
            return None
        again = bundle.transition(BundleState.CALLING, attempt=bundle.attempt + 1)
        return again if self.world.store.replace_bundle(again) == again else None

    def _decide(self, bundle: Bundle, policy: Policy, answer: Answer) -> Bundle | None:
        """Store the outcome and return the bundle as stored; None if the bundle has to be called again."""
        outcomes = rules.verdicts(bundle, answer.whole, answer.members, policy.max_attempts)
        if outcomes is None:
            return None
        return self.world.store.replace_bundle(bundle.transition(BundleState.APPLYING, outcomes=outcomes))

    def _put_back(self, message: BundleMessage, bundle: Bundle, answer: Answer) -> Handled:
        """Return the bundle to READY with a backoff, and send a message that is delayed by it."""
        backoff = answer.retry_after or rules.backoff(bundle.attempt, self.world.jitter)
        waiting = bundle.transition(BundleState.READY, not_before=self.world.now() + backoff, call_until=None)
        stored = self.world.store.replace_bundle(waiting)
        if stored == waiting:
            copy = replace(waiting_copy(message), swept=False)
            self.world.queue.send([Posting(copy, rules.seconds(backoff))])
        return Handled(HandledAs.RETRIED, stored)

    def _apply(self, bundle: Bundle, policy: Policy) -> Handled:
        """Apply the outcome to each member, report those that ended, then end the bundle."""
        tasks = [self._settle(bundle, task, policy) for task in self._tasks(bundle).values()]
        ended = [task for task in tasks if task and task.state.ended and task.bundle_id == bundle.bundle_id]
        if ended:
            self.notifier.notify(ended)
        back = [task for task in tasks if task and task.state is TaskState.CREATED]
        if back:
            self.world.queue.send([self._posting(task) for task in back])
        ended_bundle = bundle.transition(rules.ended_state(bundle), call_until=None)
        if self.on_failed is not None and ended_bundle.state is BundleState.FAILED:
            self.on_failed(ended_bundle)
        return Handled(HandledAs.APPLIED, self.world.store.replace_bundle(ended_bundle))

    def _settle(self, bundle: Bundle, task: Task, policy: Policy) -> Task | None:
        """Apply the outcome to a task that is still in the bundle; return the task as stored."""
        if not _is_in(task, bundle):
            return task
        backoff = rules.backoff(task.attempts, self.world.jitter)
        wanted = rules.after(task, bundle, policy, self.world.timing, self.world.now(), backoff)
        return self.world.store.settle(wanted, bundle.bundle_id)

    def _posting(self, task: Task) -> Posting:
        return Posting(TaskMessage.of(task), rules.seconds(task.due_at - self.world.now()))

    def _tasks(self, bundle: Bundle) -> dict[TaskKey, Task]:
        """Return the members that are stored, in the order of the bundle."""
        keys = [TaskKey(bundle.tenant, member) for member in bundle.members]
        stored = self.world.store.tasks(keys)
        return {key: stored[key] for key in keys if key in stored}

    def _wait(self, message: BundleMessage, wait: timedelta, why: HandledAs) -> Handled:
        """Send a delayed copy in place of the message; a message of the sweeper is dropped."""
        if message.swept:
            return Handled(HandledAs.DROPPED)
        spread = timedelta(seconds=self.world.jitter() * min(2**message.waits, rules.LONGEST_WAIT))
        delay = max(1, rules.seconds(wait + spread if why is HandledAs.LIMITED else wait))
        self.world.queue.send([Posting(waiting_copy(message), delay)])
        return Handled(why)


def _is_in(task: Task, bundle: Bundle) -> bool:
    """Whether the task is BUNDLED in this bundle, so that the bundle's outcome applies to it."""
    return task.state is TaskState.BUNDLED and task.bundle_id == bundle.bundle_id
