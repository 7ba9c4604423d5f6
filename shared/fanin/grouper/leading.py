"""A task's message: wait, or become the leader of its lane, fill bundles, and let go.

The lease only spares work. What keeps a task in one bundle is the claim: a transaction of the bundle's member
list and of each task's own condition. A leader who lost the lease without knowing finds his bundle sealed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from fanin.grouper import rules
from fanin.grouper.filling import Filler
from fanin.grouper.messages import BundleMessage, Posting, TaskMessage, waiting_copy
from fanin.grouper.model import Bundle, BundleState, Lease, Task, TaskState
from fanin.grouper.world import World

PUT_OFF_SECONDS = 1


class Turned(StrEnum):
    """How a task's message ended."""

    SETTLED = "settled"
    WAITING = "waiting"
    DROPPED = "dropped"
    LED = "led"


@dataclass(frozen=True, slots=True)
class Turn:
    """What happened on a task's message, for logs and metrics.

    *bundles*: as dispatched. *longest_wait*: of their members since due. *took_over*: the leader before did
    not let go. *contended*: another held or got the lease.
    """

    turned: Turned
    bundles: tuple[Bundle, ...] = ()
    took_over: bool = False
    contended: bool = False
    longest_wait: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Leader:
    """Answers task messages."""

    world: World

    def lead(self, message: TaskMessage) -> Turn:
        """See to it that the message's task comes into a bundle. Safe to repeat; StoreUnavailable where
        something is unknown, and then the message has to come again."""
        task = self.world.store.task(message.key)
        if task is None or task.state is not TaskState.CREATED:
            return Turn(Turned.SETTLED)
        early = self._too_early(task)
        if early:
            return self._wait(message, rules.seconds(early))
        seen = self.world.store.lease(task.lane)
        now = self.world.now()
        if seen and seen.is_held(now):
            return self._wait_for_leader(message)
        term = rules.first_term(seen, task.lane, self.world.new_id(), now, self.world.timing)
        if self.world.store.put_lease(seen, term) != term:
            return self._wait_for_leader(message)
        return self._serve(message, task, seen, term)

    def put_off(self, message: TaskMessage) -> Turn:
        """Have the message come again, where there is no time left to lead: that is no error of its own."""
        return self._wait(message, PUT_OFF_SECONDS)

    def _serve(self, message: TaskMessage, task: Task, seen: Lease | None, term: Lease) -> Turn:
        """The leader's term: seal what the one before left, fill, dispatch, let go, look after the task."""
        took_over = seen is not None and seen.holder is not None
        if seen is not None and took_over:
            self._dispatch(rules.empty_bundle(seen, self.world.now(), self.world.timing))
        filler = Filler(self.world)
        bundles: list[Bundle] = []
        for number in range(self.world.timing.rounds):
            bundle, more = filler.fill(term, task if number == 0 else None)
            bundles += [self._dispatch(bundle)] if bundle else []
            following = term.next(self.world.now() + self.world.timing.lease)
            if not more or self.world.store.put_lease(term, following) != following:
                break
            term = following
        self.world.store.put_lease(term, term.released())
        left = self.world.store.task(message.key)
        if left is not None and left.state is TaskState.CREATED:
            self._wait(message, rules.lease_wait(message.waits, self.world.jitter))
        return Turn(Turned.LED, tuple(bundles), took_over, longest_wait=filler.longest_wait)

    def _dispatch(self, bundle: Bundle) -> Bundle:
        """Seal, then send: a crash between the two is the sweeper's to mend."""
        sealed = self.world.store.seal(bundle)
        if sealed.state is BundleState.READY and not sealed.is_void:
            self.world.queue.send([Posting(BundleMessage(sealed.key))])
        return sealed

    def _too_early(self, task: Task) -> timedelta:
        """How long the task has to rest, or should wait for others to fill its bundle."""
        now, policy = self.world.now(), self.world.policies.of(task.target)
        if task.due_at > now:
            return task.due_at - now
        wait = rules.patience(task, 0, policy, now)
        if wait:
            waiting = self.world.store.candidates(task.lane, policy.max_size)
            return rules.patience(task, sum(each.due_at <= now for each in waiting), policy, now)
        return wait

    def _wait_for_leader(self, message: TaskMessage) -> Turn:
        delay = rules.lease_wait(message.waits, self.world.jitter)
        return self._wait(message, delay, contended=True)

    def _wait(self, message: TaskMessage, delay: int, contended: bool = False) -> Turn:
        """A copy waits in the message's place; the message itself is done."""
        if message.swept:
            return Turn(Turned.DROPPED, contended=contended)
        self.world.queue.send([Posting(waiting_copy(message), delay)])
        return Turn(Turned.WAITING, contended=contended)
