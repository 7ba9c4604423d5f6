"""Every decision of the protocol, from values alone: no clock, no store, no chance in here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum
from itertools import accumulate

from fanin.grouper.model import (
    PART,
    Bundle,
    BundleState,
    Candidate,
    Lane,
    Lease,
    Outcome,
    Task,
    TaskState,
    Verdict,
)
from fanin.grouper.policy import DELAY_MAX, Isolation, Policy, Timing

DETAIL_BYTES = 200
"""Bytes of a detail as it is stored, in JSON, where two characters take one more."""
ESCAPED = frozenset('"\\')
FIRST_BACKOFF = timedelta(seconds=1)
LONGEST_WAIT = 15
NOTHING_WRONG = timedelta()
Jitter = Callable[[], float]
"""A number from 0 up to 1, another each time."""


class Step(Enum):
    """What a handler does next about a bundle."""

    NOTHING = "nothing"
    WAIT = "wait"
    CALL = "call"
    GIVE_UP = "give up"
    APPLY = "apply"


def chunks(ids: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    """*ids* in pieces that fit one transaction."""
    for first in range(0, len(ids), size):
        yield tuple(ids[first : first + size])


def seconds(delay: timedelta) -> int:
    """*delay* as a queue takes it: whole seconds, rounded up, 0 to 900."""
    return min(max(0, math.ceil(delay.total_seconds())), int(DELAY_MAX.total_seconds()))


def lease_wait(waits: int, jitter: Jitter) -> int:
    """Seconds until a message looks again whether the leader is done: longer and more spread each time."""
    return 1 + int(jitter() * min(2**waits, LONGEST_WAIT))


def backoff(attempt: int, jitter: Jitter) -> timedelta:
    """How long a bundle or task rests after attempt number *attempt*: doubling, the last half by chance."""
    longest = min(FIRST_BACKOFF * (1 << min(attempt, 16)), DELAY_MAX)
    return longest * (0.5 + jitter() / 2)


def patience(task: Task, open_tasks: int, policy: Policy, now: datetime) -> timedelta:
    """How much longer a task should wait for others; nothing where a bundle is full or it waited enough."""
    if task.lane.is_part or open_tasks >= policy.max_size:
        return NOTHING_WRONG
    return max(NOTHING_WRONG, task.due_at + policy.max_delay - now)


def worth_another(candidates: Sequence[Candidate], policy: Policy, now: datetime) -> bool:
    """Whether a leader who just filled a bundle should begin the next: it will be full, or it is due."""
    if len(candidates) >= policy.max_size:
        return True
    return any(c.lane.is_part or c.due_at + policy.max_delay <= now for c in candidates)


def first_term(seen: Lease | None, lane: Lane, holder: str, now: datetime, timing: Timing) -> Lease:
    """The term that *holder* asks for. A first fence comes from the clock, so that fences go on rising even
    after the row of a lease was lost."""
    fence = int(now.timestamp() * 1000) if seen is None else seen.fence + 1
    return Lease(lane, fence, holder, now + timing.lease)


def empty_bundle(term: Lease, now: datetime, timing: Timing) -> Bundle:
    """The bundle of a term before its first member; it is not stored yet."""
    kept = now + timing.pending + timing.ended
    return Bundle(term.lane, term.fence, BundleState.OPEN, (), 0, now, kept)


def next_step(bundle: Bundle | None, policy: Policy, now: datetime) -> tuple[Step, timedelta]:
    """What is to be done about a bundle now, and, where it has to wait, for how long."""
    if bundle is None or bundle.is_void or bundle.state is BundleState.OPEN or bundle.state.ended:
        return Step.NOTHING, NOTHING_WRONG
    if bundle.state is BundleState.APPLYING:
        return Step.APPLY, NOTHING_WRONG
    free_at = bundle.call_until if bundle.state is BundleState.CALLING else bundle.not_before
    if free_at is not None and free_at > now:
        return Step.WAIT, free_at - now
    if bundle.attempt >= policy.max_attempts:
        return Step.GIVE_UP, NOTHING_WRONG
    return Step.CALL, NOTHING_WRONG


def is_overdue(bundle: Bundle | None, timing: Timing, now: datetime) -> bool:
    """Whether nobody seems to work on a bundle that is not done."""
    if bundle is None or bundle.is_void or bundle.state.ended:
        return False
    last = bundle.call_until if bundle.state is BundleState.CALLING else bundle.not_before
    return max(last or bundle.created_at, bundle.created_at) + timing.overdue <= now


def verdicts(
    bundle: Bundle, whole: Outcome, named: Mapping[str, Outcome], max_attempts: int
) -> tuple[Outcome, ...] | None:
    """What becomes of each member after an answer; None where the whole bundle is to be called again.

    *named*: outcomes of single members; *whole* holds for the others. A bundle that is refused as a whole,
    or that used up its attempts, is taken apart: none of its members fails because of another.
    """
    named = {member: named[member] for member in bundle.members if member in named}
    alone = len(bundle.members) == 1
    if not named and whole.verdict is Verdict.RETRY and bundle.attempt < max_attempts:
        return None
    if not named and whole.verdict is Verdict.RETRY:
        whole = Outcome(Verdict.EXHAUSTED if alone else Verdict.APART, whole.detail)
    if not named and whole.verdict is Verdict.FAIL and not alone:
        whole = Outcome(Verdict.APART, whole.detail)
    return tuple(shortened(named.get(member, whole)) for member in bundle.members)


def after(task: Task, bundle: Bundle, policy: Policy, timing: Timing, at: datetime, rest: timedelta) -> Task:
    """The task once its bundle's outcome is applied; *rest*: its pause before a retry of its own."""
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
    again = {"due_at": at + rest, "attempts": task.attempts + 1, "detail": outcome.detail}
    return _open(task, at, timing, **again)


def part_shard(bundle: Bundle, number: int, isolation: Isolation) -> str:
    """The lane in which member *number* of a refused bundle is tried again: alone, or with its half."""
    half = (len(bundle.members) + 1) // 2
    part = number if isolation is Isolation.SOLO else number // half
    return f"{PART}{bundle.bundle_id}-{part}"


def ended_state(bundle: Bundle) -> BundleState:
    """DONE where a member succeeded or goes on by itself, FAILED where none did."""
    lost = {Verdict.FAIL, Verdict.EXHAUSTED, Verdict.APART}
    return BundleState.FAILED if all(o.verdict in lost for o in bundle.outcomes) else BundleState.DONE


def shortened(outcome: Outcome) -> Outcome:
    """The outcome with its text in the bounds of a stored item, without control characters."""
    plain = [c if c.isprintable() else " " for c in outcome.detail[:DETAIL_BYTES]]
    sizes = accumulate(len(c.encode()) + (c in ESCAPED) for c in plain)
    return replace(
        outcome, detail="".join(c for c, size in zip(plain, sizes, strict=True) if size <= DETAIL_BYTES)
    )


def _ended(task: Task, state: TaskState, outcome: Outcome, at: datetime, timing: Timing) -> Task:
    return replace(task, state=state, detail=outcome.detail, expires_at=at + timing.ended)


def _open(task: Task, at: datetime, timing: Timing, **facts: object) -> Task:
    expires_at = at + timing.pending
    return replace(task, state=TaskState.CREATED, bundle_id=None, expires_at=expires_at, **facts)  # type: ignore[arg-type]
