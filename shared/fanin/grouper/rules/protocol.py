"""The decisions of the protocol as pure functions: no clock, no store, no randomness."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum
from itertools import accumulate

from fanin.grouper.rules.model import (
    PART,
    Bundle,
    BundleState,
    Candidate,
    Lane,
    Lease,
    Outcome,
    Status,
    Task,
    TaskState,
    Verdict,
)
from fanin.grouper.settings.policy import DELAY_MAX, Isolation, Policy, Timing

DETAIL_BYTES = 200
"""Bytes of a stored detail in JSON, where a quote and a backslash take two."""
ESCAPED = frozenset('"\\')
FIRST_BACKOFF = timedelta(seconds=1)
LONGEST_WAIT = 15
NO_WAIT = timedelta()
ENDS = {
    Verdict.OK: Status.SUCCEEDED,
    Verdict.FAIL: Status.FAILED,
    Verdict.RETRY: Status.DEAD,
    Verdict.EXHAUSTED: Status.DEAD,
}
"""The state in which a verdict may leave a member that stays in its bundle."""
Jitter = Callable[[], float]
"""Returns a random number from 0 up to 1."""


class Step(Enum):
    """What a handler does next with a bundle."""

    NOTHING = "nothing"
    WAIT = "wait"
    CALL = "call"
    GIVE_UP = "give up"
    APPLY = "apply"


def chunks(ids: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    """Yield *ids* in pieces of at most *size*."""
    for first in range(0, len(ids), size):
        yield tuple(ids[first : first + size])


def seconds(delay: timedelta) -> int:
    """Return *delay* in whole seconds as SQS accepts it: rounded up, 0 to 900."""
    return min(max(0, math.ceil(delay.total_seconds())), int(DELAY_MAX.total_seconds()))


def lease_wait(waits: int, jitter: Jitter) -> int:
    """Return the seconds after which a message checks the lease again: exponential, with jitter."""
    return 1 + int(jitter() * min(2**waits, LONGEST_WAIT))


def backoff(attempt: int, jitter: Jitter) -> timedelta:
    """Return the backoff after attempt number *attempt*: exponential, half of it jitter."""
    longest = min(FIRST_BACKOFF * (1 << min(attempt, 16)), DELAY_MAX)
    return longest * (0.5 + jitter() / 2)


def batching_wait(task: Task, open_tasks: int, policy: Policy, now: datetime) -> timedelta:
    """Return how much longer a task waits for others; 0 if a bundle is full or *max_delay* is over."""
    if task.lane.is_part or open_tasks >= policy.max_size:
        return NO_WAIT
    return max(NO_WAIT, task.due_at + policy.max_delay - now)


def worth_another(candidates: Sequence[Candidate], policy: Policy, now: datetime) -> bool:
    """Whether *candidates* fill another bundle, or one of them waited for *max_delay*."""
    if len(candidates) >= policy.max_size:
        return True
    return any(c.lane.is_part or c.due_at + policy.max_delay <= now for c in candidates)


def first_term(seen: Lease | None, lane: Lane, holder: str, now: datetime, policy: Policy) -> Lease:
    """Return the term that *holder* tries to acquire after the term *seen*.

    The first fence is the time in milliseconds, so fences keep growing after the row of a lease was deleted.
    """
    fence = int(now.timestamp() * 1000) if seen is None else seen.fence + 1
    return Lease(lane, fence, holder, now + policy.lease)


def empty_bundle(term: Lease, now: datetime, timing: Timing) -> Bundle:
    """Return the bundle of a term before its first member; it is not stored yet."""
    kept = now + timing.pending + timing.ended
    return Bundle(term.lane, term.fence, BundleState.OPEN, (), 0, now, kept)


def next_step(bundle: Bundle | None, policy: Policy, now: datetime) -> tuple[Step, timedelta]:
    """Return the next step of a bundle, and how long it has to wait before it."""
    if bundle is None or bundle.is_void or bundle.state is BundleState.OPEN or bundle.state.ended:
        return Step.NOTHING, NO_WAIT
    if bundle.state is BundleState.APPLYING:
        return Step.APPLY, NO_WAIT
    free_at = bundle.call_until if bundle.state is BundleState.CALLING else bundle.not_before
    if free_at is not None and free_at > now:
        return Step.WAIT, free_at - now
    if bundle.attempt >= policy.max_attempts:
        return Step.GIVE_UP, NO_WAIT
    return Step.CALL, NO_WAIT


def is_overdue(bundle: Bundle | None, policy: Policy, now: datetime) -> bool:
    """Whether a bundle with members has made no progress for *policy.overdue*."""
    if bundle is None or bundle.is_void or bundle.state.ended:
        return False
    last = bundle.call_until if bundle.state is BundleState.CALLING else bundle.not_before
    return max(last or bundle.created_at, bundle.created_at) + policy.overdue <= now


def verdicts(
    bundle: Bundle, whole: Outcome, named: Mapping[str, Outcome], max_attempts: int
) -> tuple[Outcome, ...] | None:
    """Return the outcome of each member after an answer; None if the whole bundle has to be called again.

    *named*: outcomes of single members; *whole* applies to the others. A bundle that is refused as a whole,
    or whose attempts are used up, is divided, so that no member fails because of another.
    """
    alone = len(bundle.members) == 1
    if not named and whole.verdict is Verdict.RETRY and bundle.attempt < max_attempts:
        return None
    if not named and whole.verdict is Verdict.RETRY:
        whole = Outcome(Verdict.EXHAUSTED if alone else Verdict.APART, whole.detail)
    if not named and whole.verdict is Verdict.FAIL and not alone:
        whole = Outcome(Verdict.APART, whole.detail)
    return tuple(shortened(named.get(member, whole)) for member in bundle.members)


def after(
    task: Task, bundle: Bundle, policy: Policy, timing: Timing, at: datetime, backoff: timedelta
) -> Task:
    """Return the task after its bundle's outcome; *backoff*: the backoff before a retry of the task alone."""
    number = bundle.members.index(task.task_id)
    outcome = bundle.outcomes[number]
    match outcome.verdict:
        case Verdict.OK:
            return _ended(task, TaskState.SUCCEEDED, outcome, at, timing)
        case Verdict.FAIL:
            return _ended(task, TaskState.FAILED, outcome, at, timing)
        case Verdict.EXHAUSTED:
            return _ended(task, TaskState.DEAD, outcome, at, timing)
        case Verdict.APART:
            shard = part_shard(bundle, number, policy.isolation)
            return _open(task, at, timing, shard=shard, due_at=at, detail=outcome.detail)
    if task.attempts + 1 >= policy.max_attempts:
        return _ended(replace(task, attempts=task.attempts + 1), TaskState.DEAD, outcome, at, timing)
    again = {"due_at": at + backoff, "attempts": task.attempts + 1, "detail": outcome.detail}
    return _open(task, at, timing, **again)


def part_shard(bundle: Bundle, number: int, isolation: Isolation) -> str:
    """Return the shard in which member *number* of a refused bundle is retried: alone, or with its half."""
    half = (len(bundle.members) + 1) // 2
    part = number if isolation is Isolation.SOLO else number // half
    return f"{PART}{bundle.bundle_id}-{part}"


def status_of(task: Task, bundle: Bundle | None) -> Status:
    """Return the state that the API reports for *task*; *bundle*: that of a BUNDLED task."""
    if task.state is not TaskState.BUNDLED:
        return Status(task.state)
    called = bundle is not None and bundle.state in {BundleState.CALLING, BundleState.APPLYING}
    return Status.IN_PROGRESS if called else Status.BUNDLED


def may_be(bundle: Bundle, number: int, wanted: Status) -> bool:
    """Whether member *number* may be in the state *wanted*, by its bundle alone."""
    if not bundle.outcomes:
        called = bundle.state is BundleState.CALLING
        return wanted is (Status.IN_PROGRESS if called else Status.BUNDLED)
    if bundle.state is BundleState.APPLYING and wanted is Status.IN_PROGRESS:
        return True
    verdict = bundle.outcomes[number].verdict
    return verdict is Verdict.APART or wanted is ENDS[verdict]


def ended_state(bundle: Bundle) -> BundleState:
    """Return DONE if a member's verdict is ``ok`` or ``retry``, else FAILED."""
    lost = {Verdict.FAIL, Verdict.EXHAUSTED, Verdict.APART}
    return BundleState.FAILED if all(o.verdict in lost for o in bundle.outcomes) else BundleState.DONE


def shortened(outcome: Outcome) -> Outcome:
    """Return the outcome as it is stored: its detail cut to DETAIL_BYTES, control characters as spaces."""
    printable = [c if c.isprintable() else " " for c in outcome.detail[:DETAIL_BYTES]]
    sizes = accumulate(len(c.encode()) + (c in ESCAPED) for c in printable)
    detail = "".join(c for c, size in zip(printable, sizes, strict=True) if size <= DETAIL_BYTES)
    return Outcome(outcome.verdict, detail)


def _ended(task: Task, state: TaskState, outcome: Outcome, at: datetime, timing: Timing) -> Task:
    return replace(task, state=state, detail=outcome.detail, expires_at=at + timing.ended)


def _open(task: Task, at: datetime, timing: Timing, **facts: object) -> Task:
    expires_at = at + timing.pending
    return replace(task, state=TaskState.CREATED, bundle_id=None, expires_at=expires_at, **facts)  # type: ignore[arg-type]
