"""The grouper with one rule broken at a time: ``python -m tests.simulation_grouper.mutants --seeds 2000``."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import timedelta

from fanin.errors import StoreUnavailable
from fanin.grouper import Answer, BundleState, Outcome, Posting, TaskMessage, TaskState, Verdict
from fanin.grouper.memory import MemoryStore
from fanin.grouper.rules import protocol as rules
from fanin.grouper.use_cases import handling
from fanin.grouper.use_cases.filling import Filler
from fanin.grouper.use_cases.handling import Handled, HandledAs, Handler, Limiter
from fanin.grouper.use_cases.leading import Leader, LeadOutcome, LeadResult
from fanin.grouper.use_cases.sweeping import Sweeper, Swept
from tests.simulating.mutants import Mutant, drive
from tests.simulation_grouper.claim_mutants import CLAIM_MUTANTS, due_or_not
from tests.simulation_grouper.referee import Referee
from tests.simulation_grouper.run import ROOM
from tests.simulation_grouper.world import World

_serve, _apply, _verdicts, _next_step = Leader._serve, Handler._apply, rules.verdicts, rules.next_step
_first_term, _begin, _token = rules.first_term, Handler._begin, handling.token
_seal = MemoryStore.seal


def _put_lease_always(self, seen, wanted):
    self.write_lease(wanted)
    return wanted


def _release_always(self, seen, wanted):
    stored = self.leases.get(wanted.lane)
    same = (stored and (stored.fence, stored.holder)) == (seen and (seen.fence, seen.holder))
    if same or wanted.holder is None:
        self.write_lease(wanted)
    return self.leases[wanted.lane]


def _replace_always(self, bundle):
    self.write_bundle(replace(bundle, members=self.bundles[bundle.key].members))
    return bundle


def _replace_and_members(self, bundle):
    """A write of the whole bundle as it was seen, without a condition on what it became."""
    self.write_bundle(bundle)
    return bundle


def _settle_always(self, task, bundle_id):
    self.write_task(task)
    return task


def _create_always(self, task):
    self.write_task(task)
    return task


def _create_unless_stored(self, task):
    """What has expired keeps its id until time to live deletes it."""
    if task.key not in self.stored_tasks:
        self.write_task(task)
    return self.stored_tasks[task.key]


def _bundle_and_let_expire(self, key, bundle):
    task = self.stored_tasks[key]
    self.write_task(replace(task, state=TaskState.BUNDLED, bundle_id=bundle.bundle_id))


def _seal_none(self, message, task, seen, term):
    return _serve(self, message, task, replace(seen, holder=None) if seen else None, term)


def _fail_together(bundle, whole, named, max_attempts):
    """No isolation: what the API says of the whole bundle holds for each member."""
    outcomes = _verdicts(bundle, whole, named, max_attempts)
    if outcomes is None:
        return None
    failed = {Verdict.APART: Verdict.FAIL}
    return tuple(Outcome(failed.get(o.verdict, o.verdict), o.detail) for o in outcomes)


def _give_up_together(bundle, whole, named, max_attempts):
    """A bundle that used up its attempts is not taken apart."""
    outcomes = _verdicts(bundle, whole, named, max_attempts)
    if outcomes is None or whole.verdict is not Verdict.RETRY:
        return outcomes
    dead = {Verdict.APART: Verdict.EXHAUSTED}
    return tuple(Outcome(dead.get(o.verdict, o.verdict), o.detail) for o in outcomes)


def _drop_unknown(self, members):
    """The outcome of a task that was not sent is dropped, and the others are taken as they are."""
    return replace(self, members={name: self.members[name] for name in members if name in self.members})


def _apart_in_place(bundle, number, isolation):
    """Members of a refused bundle go back into the lane they came from."""
    return bundle.lane.shard


def _retry_for_ever(bundle, whole, named, max_attempts):
    return _verdicts(bundle, whole, named, 10**9)


def _never_give_up(bundle, policy, now):
    step, wait = _next_step(bundle, policy, now)
    return (rules.Step.CALL if step is rules.Step.GIVE_UP else step), wait


def _ignore_call_lease(bundle, policy, now):
    step, wait = _next_step(bundle, policy, now)
    if step is rules.Step.WAIT and bundle.state is BundleState.CALLING:
        return rules.Step.CALL, timedelta()
    return step, wait


def _same_attempt(self, message, bundle, policy):
    """A repeated call does not count as another attempt."""
    return _begin(self, message, replace(bundle, attempt=max(0, bundle.attempt - 1)), policy)


def _call_again_when_done(bundle, policy, now):
    step, wait = _next_step(bundle, policy, now)
    if bundle is not None and bundle.state is BundleState.APPLYING:
        return rules.Step.CALL, timedelta()
    return step, wait


def _apply_unrecorded(self, bundle, policy, answer):
    """The outcome is applied before it is written down, and then the bundle is over."""
    outcomes = rules.verdicts(bundle, answer.whole, answer.members, policy.max_attempts)
    if outcomes is None:
        return None
    applied = replace(bundle, outcomes=outcomes)
    for task in self._tasks(applied).values():
        self._settle(applied, task, policy)
    return self.world.store.replace_bundle(bundle.transition(BundleState.APPLYING, outcomes=outcomes))


def _notify_last(self, bundle, policy):
    """The bundle ends before its tasks are reported."""
    tasks = [self._settle(bundle, task, policy) for task in self._tasks(bundle).values()]
    back = [task for task in tasks if task and task.state is TaskState.CREATED]
    ended = bundle.transition(rules.ended_state(bundle), call_until=None)
    stored = self.world.store.replace_bundle(ended)
    self.world.queue.send([self._posting(task) for task in back])
    self.notifier.notify([t for t in tasks if t and t.state.ended and t.bundle_id == bundle.bundle_id])
    return Handled(HandledAs.APPLIED, stored)


def _end_without_applying(self, bundle, policy):
    ended = bundle.transition(rules.ended_state(bundle), call_until=None)
    stored = self.world.store.replace_bundle(ended)
    return _apply(self, bundle, policy) if stored == ended else Handled(HandledAs.APPLIED, stored)


def _wait_by_failing(self, message, delay, contended=False):
    """Waiting by visibility: the message itself comes back, and its receive count rises."""
    raise StoreUnavailable("not yet")


def _wait_by_forgetting(self, message, delay, contended=False):
    return LeadResult(LeadOutcome.WAITING, contended=contended)


def _no_recheck(self, message, task, seen, term):
    """The leader does not look whether his own task came into a bundle."""
    return _serve(self, replace(message, swept=True), task, seen, term)


def _index_only(self, bundle, size, own):
    known = self.stale | set(bundle.members)
    found = self.world.store.candidates(bundle.lane, size + len(known))
    return [c for c in found if c.task_id not in known and c.due_at <= self.world.now()]


def _take_always(self, lane, policy):
    return timedelta()


def _put_full_at_always(self, lane, seen, wanted):
    self.buckets[lane] = wanted
    self._check_rate(lane, wanted)
    return True


def _give_early(full_at, policy, now):
    """A token for each caller that asks, whatever is left in the bucket."""
    return replace(_token(full_at, policy, now), wait=timedelta())


def _holder_is_the_task(seen, lane, holder, now, policy):
    """The paper's holder: the same for every delivery of a task's message, and free to come in again."""
    return replace(_first_term(seen, lane, holder, now, policy), fence=seen.fence if seen else 1)


def _overfill(self, term, own):
    policy = self.world.policies.of(term.lane.target)
    bundle = rules.empty_bundle(term, self.world.now(), self.world.timing)
    found = self._fresh(bundle, policy.max_size + 5, own)
    bundle, _ = self._claim_all(bundle, [c.task_id for c in found], term)
    return (bundle if bundle.members else None), False


def _sweep_tasks_only(self):
    lanes = [task for task in self._oldest().values() if self._is_overdue(task)]
    self.world.queue.send([Posting(TaskMessage.of(task, swept=True)) for task in lanes])
    return Swept(len(lanes), 0)


def _sweep_bundles_only(self):
    return Swept(0, len([key for key in self._live() if self._wake(key)]))


_after = rules.after


def _keep_bundle_id(task, bundle, policy, timing, at, not_before):
    after = _after(task, bundle, policy, timing, at, not_before)
    return replace(after, bundle_id=task.bundle_id)


def _seal_what_is_called(self, bundle):
    """A seal takes a bundle back to READY while its call goes on."""
    stored = self.bundles.get(bundle.key)
    if stored is not None and stored.state is BundleState.CALLING:
        self.write_bundle(stored.transition(BundleState.READY))
    return _seal(self, bundle)


def _call_before_its_time(bundle, policy, now):
    return _next_step(bundle and replace(bundle, not_before=None), policy, now)


def _give_up_early(bundle, policy, now):
    """The last attempt is not made."""
    return _next_step(bundle, replace(policy, max_attempts=max(1, policy.max_attempts - 1)), now)


def _apply_all_but_one(self, bundle, policy):
    return _apply(self, replace(bundle, members=bundle.members[:-1]), policy)


MUTANTS = (
    *CLAIM_MUTANTS,
    Mutant("no sweeper", (World, "sweeping", False)),
    Mutant("the sweeper looks after tasks only", (Sweeper, "sweep", _sweep_tasks_only)),
    Mutant("the sweeper looks after bundles only", (Sweeper, "sweep", _sweep_bundles_only)),
    Mutant("no isolation after a refusal", (rules, "verdicts", _fail_together)),
    Mutant("no isolation after the last attempt", (rules, "verdicts", _give_up_together)),
    Mutant("an outcome of a task that was not sent is dropped", (Answer, "about", _drop_unknown)),
    Mutant("the parts of a bundle meet again", (rules, "part_shard", _apart_in_place)),
    Mutant(
        "no fence: a lease is taken, kept and released without condition",
        (MemoryStore, "put_lease", _put_lease_always),
    ),
    Mutant("a lease is released by any caller", (MemoryStore, "put_lease", _release_always)),
    Mutant("a redelivery comes in under the same fence", (rules, "first_term", _holder_is_the_task)),
    Mutant("a bundle is written without condition", (MemoryStore, "replace_bundle", _replace_always)),
    Mutant(
        "a write of a bundle carries its members along", (MemoryStore, "replace_bundle", _replace_and_members)
    ),
    Mutant("a task is settled without condition", (MemoryStore, "settle", _settle_always)),
    Mutant("a task is created without condition", (MemoryStore, "create", _create_always)),
    Mutant("a task that expired keeps its id", (MemoryStore, "create", _create_unless_stored)),
    Mutant(
        "a task expires while its bundle is worked on", (MemoryStore, "_bundle_task", _bundle_and_let_expire)
    ),
    Mutant("a bundle calls what is its own no more", (handling, "_is_in", lambda task, bundle: True)),
    Mutant("a bundle is retried for ever", (rules, "verdicts", _retry_for_ever)),
    Mutant("attempts are not bounded after crashes", (rules, "next_step", _never_give_up)),
    Mutant("the call's lease is ignored", (rules, "next_step", _ignore_call_lease)),
    Mutant("a repeated call is the same attempt", (Handler, "_begin", _same_attempt)),
    Mutant("a recorded outcome does not keep from calling", (rules, "next_step", _call_again_when_done)),
    Mutant("the outcome is applied before it is recorded", (Handler, "_decide", _apply_unrecorded)),
    Mutant("the bundle is over before its outcome is applied", (Handler, "_apply", _end_without_applying)),
    Mutant("the bundle ends before its tasks are reported", (Handler, "_apply", _notify_last)),
    Mutant("waiting raises the receive count", (Leader, "_wait", _wait_by_failing)),
    Mutant("a message does not wait", (Leader, "_wait", _wait_by_forgetting)),
    Mutant("no limit of rate", (Limiter, "take", _take_always)),
    Mutant("tokens are taken without condition", (Referee, "put_full_at", _put_full_at_always)),
    Mutant("a token is given before its time", (handling, "token", _give_early)),
    Mutant("a bundle is filled beyond its size", (Filler, "fill", _overfill)),
    Mutant("an isolated task keeps its bundle's name", (rules, "after", _keep_bundle_id)),
    Mutant("a seal reopens a bundle that is called", (MemoryStore, "seal", _seal_what_is_called)),
    Mutant("a bundle is called before its backoff is over", (rules, "next_step", _call_before_its_time)),
    Mutant("a bundle is given up before its last attempt", (rules, "next_step", _give_up_early)),
    Mutant("a bundle ends before all outcomes are applied", (Handler, "_apply", _apply_all_but_one)),
)
"""Each of these breaks a promise, and the simulation shows how."""

EQUIVALENT = (
    (
        Mutant("the leader tries what is not due", (Filler, "_due", due_or_not)),
        "the claim refuses it",
    ),
    (
        Mutant("a takeover seals nothing", (Leader, "_serve", _seal_none)),
        "a bundle whose leader died waits for the sweeper",
    ),
    (
        Mutant("the leader does not add its own task", (Filler, "_fresh", _index_only)),
        "its task is left to later messages, or to the sweeper",
    ),
    (
        Mutant("the leader does not look after its own task", (Leader, "_serve", _no_recheck)),
        "its task is left to later messages, or to the sweeper",
    ),
)
"""These cost time and repeated work only, by design."""


if __name__ == "__main__":
    sys.exit(drive(ROOM, MUTANTS, EQUIVALENT))
