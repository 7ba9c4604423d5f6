"""Processes a task's message: wait, or become the leader of its lane, fill bundles and release the lease.

The lease only saves work. The claim keeps a task in one bundle: a transaction of the bundle's member list and
a condition on each task. The claims of a leader that lost its lease unnoticed fail, because its bundle is
sealed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from fanin.grouper.rules import protocol as rules
from fanin.grouper.rules.messages import BundleMessage, Posting, TaskMessage, waiting_copy
from fanin.grouper.rules.model import Bundle, BundleState, Lease, Task, TaskState
from fanin.grouper.use_cases.filling import Filler
from fanin.grouper.world import World

PUT_OFF_SECONDS = 1


class LeadOutcome(StrEnum):
    """The outcome of a task's message."""

    SETTLED = "settled"
    WAITING = "waiting"
    DROPPED = "dropped"
    LED = "led"


@dataclass(frozen=True, slots=True)
class LeadResult:
    """The result of processing a task's message, for logs and metrics.

    *bundles*: as dispatched. *longest_wait*: of their members, from due to bundled. *took_over*: the previous
    leader had not released its lease. *contended*: another leader held or acquired the lease.
    """

    outcome: LeadOutcome
    bundles: tuple[Bundle, ...] = ()
    took_over: bool = False
    contended: bool = False
    longest_wait: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Leader:
    """Processes task messages."""

    world: World

    def lead(self, message: TaskMessage) -> LeadResult:
        """Lead the lane of the message's task and fill bundles, or wait for its leader. Safe to repeat.

        Raises StoreUnavailable if the outcome of a request is unknown; deliver the message again then.
        """
        task = self.world.store.task(message.key)
        if task is None or task.state is not TaskState.CREATED:
            return LeadResult(LeadOutcome.SETTLED)
        early = self._too_early(task)
        if early:
            return self._wait(message, rules.seconds(early))
        seen = self.world.store.lease(task.lane)
        now = self.world.now()
        if seen and seen.is_held(now):
            return self._wait_for_leader(message)
        policy = self.world.policies.of(task.target)
        term = rules.first_term(seen, task.lane, self.world.new_id(), now, policy)
        if self.world.store.put_lease(seen, term) != term:
            return self._wait_for_leader(message)
        return self._serve(message, task, seen, term)

    def put_off(self, message: TaskMessage) -> LeadResult:
        """Send a delayed copy, because too little time is left to lead; that is no error of the message."""
        return self._wait(message, PUT_OFF_SECONDS)

    def _serve(self, message: TaskMessage, task: Task, seen: Lease | None, term: Lease) -> LeadResult:
        """Run the leader's terms: seal after a crash, fill, dispatch, release, check the task."""
        took_over = seen is not None and seen.holder is not None
        if seen is not None and took_over:
            self._dispatch(rules.empty_bundle(seen, self.world.now(), self.world.timing))
        filler = Filler(self.world)
        bundles: list[Bundle] = []
        lease = self.world.policies.of(task.target).lease
        for number in range(self.world.timing.rounds):
            bundle, more = filler.fill(term, task if number == 0 else None)
            bundles += [self._dispatch(bundle)] if bundle else []
            following = term.next(self.world.now() + lease)
            if not more or self.world.store.put_lease(term, following) != following:
                break
            term = following
        self.world.store.put_lease(term, term.released())
        current = self.world.store.task(message.key)
        if current is not None and current.state is TaskState.CREATED:
            self._wait(message, rules.lease_wait(message.waits, self.world.jitter))
        return LeadResult(LeadOutcome.LED, tuple(bundles), took_over, longest_wait=filler.longest_wait)

    def _dispatch(self, bundle: Bundle) -> Bundle:
        """Seal the bundle, then send its message; the sweeper sends it after a crash between the two."""
        sealed = self.world.store.seal(bundle)
        if sealed.state is BundleState.READY and not sealed.is_void:
            self.world.queue.send([Posting(BundleMessage.of(sealed))])
        return sealed

    def _too_early(self, task: Task) -> timedelta:
        """Return how long the task is still in backoff, or waits for others to fill its bundle."""
        now, policy = self.world.now(), self.world.policies.of(task.target)
        if task.due_at > now:
            return task.due_at - now
        wait = rules.batching_wait(task, 0, policy, now)
        if wait:
            waiting = self.world.store.candidates(task.lane, policy.max_size)
            return rules.batching_wait(task, sum(each.due_at <= now for each in waiting), policy, now)
        return wait

    def _wait_for_leader(self, message: TaskMessage) -> LeadResult:
        delay = rules.lease_wait(message.waits, self.world.jitter)
        return self._wait(message, delay, contended=True)

    def _wait(self, message: TaskMessage, delay: int, contended: bool = False) -> LeadResult:
        """Send a delayed copy in place of the message; a message of the sweeper is dropped."""
        if message.swept:
            return LeadResult(LeadOutcome.DROPPED, contended=contended)
        self.world.queue.send([Posting(waiting_copy(message), delay)])
        return LeadResult(LeadOutcome.WAITING, contended=contended)
