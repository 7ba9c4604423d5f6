"""The lifecycle of a batch: its transitions, how long each state lasts, and when the sweeper checks it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fanin.errors import BatchEnded, NotFound
from fanin.tracker.rules.model import ALIVE, Batch, State
from fanin.tracker.rules.thresholds import asks, next_threshold_check

CHECK_AFTER = timedelta(minutes=15)
"""Time until the sweeper checks whether a CLOSED batch is stuck or an ending event was not delivered."""
ACK_PARENT_AFTER = timedelta(minutes=1)
"""Time until the sweeper checks that an ended batch has acked the item of its parent."""
CHECK_CHILD_AFTER = timedelta(minutes=1)
"""Time until the sweeper checks that the live children of a cancelled batch are cancelled with it."""
CHECK_AT_MOST_EVERY = timedelta(hours=6)
ACTIVITY_COUNTS_AFTER = 8
"""Activity extends a batch once an eighth of its retention has passed, so that many acks cost few writes."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of state of a batch: the condition under which it applies, and the values that it writes.

    *expected*: the batch must hold as many items as it expects. *failures*: at least so many items must
    have failed, and *healed* must still be the number of healed items; *final*: of the final total, so the
    batch must be CLOSED. *reached*: the succeeded items that are enough; what succeeded stays so, so the
    state alone decides. TIMED_OUT and EXPIRED need a deadline or an expiry that is not later than *at*.
    *by*: the principal that forces the end. *children*: the children of the batch are cancelled, too.
    """

    to: State
    at: datetime
    expires_at: datetime
    next_check_at: datetime
    caller: str | None = None
    reason: str | None = None
    expected: bool = False
    failures: int | None = None
    healed: int = 0
    final: bool = False
    by: str | None = None
    children: bool = False
    reached: int | None = None

    @property
    def sources(self) -> tuple[State, ...]:
        """The states from which it starts."""
        if self.to is State.CLOSED:
            return (State.OPEN,)
        if self.final or (self.to is State.COMPLETE and self.reached is None):
            return (State.CLOSED,)
        return ALIVE

    def admits(self, batch: Batch) -> bool:
        """Whether the condition holds for *batch*."""
        if batch.state not in self.sources:
            return False
        if self.expected and batch.expected_items is not None and batch.total < batch.expected_items:
            return False
        if self.failures is not None and (batch.failed < self.failures or batch.healed != self.healed):
            return False
        if self.to is State.TIMED_OUT:
            return batch.deadline_at is not None and batch.deadline_at <= self.at
        return self.to is not State.EXPIRED or batch.expires_at <= self.at

    def apply(self, batch: Batch) -> Batch:
        """Return the batch after a transition that it admits."""
        after = replace(batch, state=self.to, expires_at=self.expires_at, next_check_at=self.next_check_at)
        if self.to is State.CLOSED:
            return replace(after, closed_at=self.at)
        after = replace(after, ended_at=self.at, end_reason=self.reason, ended_by=self.by)
        after = replace(after, cancels_children=self.children)
        if self.to is State.COMPLETE:
            return replace(after, completed_at=self.at, completed_by=self.caller, reached=self.reached)
        return after


def stage_of(batch: Batch, state: State) -> timedelta:
    """Return how long *batch* is kept in *state*."""
    kept = batch.retention
    return {State.OPEN: kept.open, State.CLOSED: kept.closed}.get(state, kept.complete)


def expiry(batch: Batch, state: State, at: datetime) -> datetime:
    """Return when the batch expires if its last activity is in *state* at *at*: before its pages do.

    A live batch leaves time for its end. One that is seen to have ended long ago is kept for what is left.
    """
    longest = oldest(batch) if state in ALIVE else batch.pages_expire_at
    return min(at + stage_of(batch, state), longest)


def oldest(batch: Batch) -> datetime:
    """Return when a live batch expires whatever its activity."""
    return batch.pages_expire_at - batch.retention.complete


def extended_expiry(batch: Batch, at: datetime) -> datetime | None:
    """Return the new expiry of an active batch, or None while the extension is too small to be written.

    The last one is written, however small: a batch that expires earlier had no activity.
    """
    until = expiry(batch, batch.state, at)
    least = stage_of(batch, batch.state) / ACTIVITY_COUNTS_AFTER
    is_last = until == oldest(batch) > batch.expires_at
    return until if is_last or until - batch.expires_at >= least else None


def first_check(batch: Batch, state: State, at: datetime, expires_at: datetime) -> datetime:
    """Return the first check of a batch in *state* since *at*: at its end, or soon if it can be stuck."""
    if state not in ALIVE:
        return at + (ACK_PARENT_AFTER if batch.parent_item_id or batch.cancels_children else CHECK_AFTER)
    may_be_stuck = state is State.CLOSED or batch.max_failures is not None
    threshold = next_threshold_check(batch, state is State.CLOSED, at, wait=timedelta(0))
    is_new_child = state is State.OPEN and batch.parent_item_id is not None
    wait = CHECK_CHILD_AFTER if is_new_child else CHECK_AFTER if may_be_stuck else None
    return earliest(expires_at, batch.deadline_at, at + wait if wait else None, threshold)


def next_check(batch: Batch, at: datetime) -> datetime:
    """Return the next check of a batch that needed no repair; the older it is, the longer the interval."""
    since = batch.ended_at or batch.closed_at or batch.created_at
    wait = min(max(at - since, CHECK_AFTER), CHECK_AT_MOST_EVERY)
    if not batch.is_alive and at < since + CHECK_AFTER:
        return since + CHECK_AFTER  # the bus needs this long to confirm the event
    ends = (batch.expires_at, batch.deadline_at) if batch.is_alive else ()
    if batch.is_alive and asks(batch):
        is_closed = batch.state is State.CLOSED
        repair = _repair_at(batch, at) if is_closed or batch.max_failures is not None else None
        return earliest(repair, next_threshold_check(batch, is_closed, at), *ends)
    if batch.state is State.OPEN and batch.max_failures is None:
        return earliest(*ends)
    return earliest(at + wait, *ends)


def needs_repair(batch: Batch, at: datetime) -> bool:
    """Whether a check of a CLOSED batch repairs it: each does, but for those of its thresholds alone."""
    if batch.state is not State.CLOSED or batch.next_check_at is None or not asks(batch):
        return batch.state is State.CLOSED
    limit = batch.failure_limit
    if limit is not None and batch.failed >= limit:
        return True  # what is all done completes, before its failures end it
    return _repair_at(batch, batch.next_check_at - timedelta(microseconds=1)) <= at


def _repair_at(batch: Batch, after: datetime) -> datetime:
    """Return the first time later than *after* at which a batch that asks for thresholds may be stuck."""
    wait = CHECK_AFTER
    at = (batch.closed_at or batch.created_at) + wait
    while at <= after:
        at, wait = at + wait, min(2 * wait, CHECK_AT_MOST_EVERY)
    return at


def ends_at(batch: Batch) -> datetime:
    """Return when expiry or the deadline ends a live batch; a cached state is not valid after that."""
    return earliest(batch.expires_at, batch.deadline_at if batch.is_alive else None)


def unless_ended(batch: Batch, refused: str, *wanted: str) -> Batch:
    """Return *batch* if it is live, or has ended with one of the *wanted* results.

    Otherwise raises BatchEnded, whose text ends with *refused*, and NotFound for a batch that has expired.
    """
    if batch.state is State.EXPIRED:
        raise NotFound(f"there is no batch {batch.batch_id}")
    result = batch.result
    if result is None or result in wanted:
        return batch
    outcome = result if batch.end_reason is None else f"{result}: {batch.end_reason}"
    raise BatchEnded(
        f"batch {batch.batch_id} is {batch.state} ({outcome}); {refused}",
        batch_id=batch.batch_id,
        state=batch.state.value,
        result=result,
        reason=batch.end_reason,
    )


def earliest(*times: datetime | None) -> datetime:
    """Return the earliest of the times that are not None; at least one must be set."""
    return min(time for time in times if time is not None)


def transition(
    batch: Batch,
    to: State,
    at: datetime,
    caller: str | None = None,
    reason: str | None = None,
    failures: int | None = None,
    healed: int = 0,
    final: bool = False,
    by: str | None = None,
    children: bool = False,
    reached: int | None = None,
) -> Transition:
    """Return the transition of *batch* to the state *to*, with its new expiry and check time."""
    expires_at = expiry(batch, to, at)
    return Transition(
        to=to,
        at=at,
        expires_at=expires_at,
        next_check_at=first_check(replace(batch, cancels_children=children), to, at, expires_at),
        caller=caller,
        reason=reason,
        expected=to is State.CLOSED,
        failures=failures,
        healed=healed,
        final=final,
        by=by,
        children=children,
        reached=reached,
    )
