"""The life of a batch: its steps, how long each stage lasts, and when somebody has to look at it again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fanin.tracker.model import ALIVE, LIFE_MAX, Batch, State

CHECK_AFTER = timedelta(minutes=15)
"""After so long the sweeper looks whether a CLOSED batch is stuck, or an ending event was not delivered."""
TELL_PARENT_AFTER = timedelta(minutes=1)
"""After so long the sweeper sees to it that a parent has heard of the end of its child."""
CHECK_AT_MOST_EVERY = timedelta(hours=6)
ACTIVITY_COUNTS_AFTER = 8
"""Activity prolongs a batch once an eighth of its retention is used up: few writes, however many acks."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A step in the life of a batch, as a condition and what then holds.

    *expected*: the items that were announced must have been added. *failures*: at least so many must have
    failed, and none been healed since *healed* were. *due*: its deadline (for TIMED_OUT) or its time (for
    EXPIRED) must have come.
    """

    to: State
    at: datetime
    expires_at: datetime
    due_at: datetime
    caller: str | None = None
    reason: str | None = None
    expected: bool = False
    failures: int | None = None
    healed: int = 0

    @property
    def sources(self) -> tuple[State, ...]:
        """The states that it starts from."""
        if self.to is State.CLOSED:
            return (State.OPEN,)
        if self.to is State.COMPLETE and self.failures is None:
            return (State.CLOSED,)
        return ALIVE

    def admits(self, batch: Batch) -> bool:
        """Whether *batch* may take this step now."""
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
        """The batch after an admitted step."""
        after = replace(batch, state=self.to, expires_at=self.expires_at, due_at=self.due_at)
        if self.to is State.CLOSED:
            return replace(after, closed_at=self.at)
        after = replace(after, ended_at=self.at, end_reason=self.reason)
        if self.to is State.COMPLETE:
            return replace(after, completed_at=self.at, completed_by=self.caller)
        return after


def stage_of(batch: Batch, state: State) -> timedelta:
    """How long *batch* is kept in *state*."""
    kept = batch.retention
    return {State.OPEN: kept.open, State.CLOSED: kept.closed}.get(state, kept.complete)


def expiry(batch: Batch, state: State, at: datetime) -> datetime:
    """When the batch expires if it is active in *state* at *at*, and no more after that."""
    longest = batch.created_at + LIFE_MAX - batch.retention.complete
    kept = at + stage_of(batch, state)
    return min(kept, longest) if state in (State.OPEN, State.CLOSED) else kept


def prolonged(batch: Batch, at: datetime) -> datetime | None:
    """When an active batch expires now; None while the difference is too small to write down."""
    until = expiry(batch, batch.state, at)
    if until - batch.expires_at < stage_of(batch, batch.state) / ACTIVITY_COUNTS_AFTER:
        return None
    return until


def due(batch: Batch, state: State, at: datetime, expires_at: datetime) -> datetime:
    """When to look at a batch that is in *state* since *at*: at its end, or soon where it can be stuck."""
    if state not in ALIVE:
        return at + (TELL_PARENT_AFTER if batch.parent_item_id else CHECK_AFTER)
    may_be_stuck = state is State.CLOSED or batch.max_failures is not None
    return earliest(expires_at, batch.deadline_at, at + CHECK_AFTER if may_be_stuck else None)


def next_look(batch: Batch, at: datetime) -> datetime:
    """When to look again at a batch that was found in order: rarely, the older it is."""
    since = batch.ended_at or batch.closed_at or batch.created_at
    wait = min(max(at - since, CHECK_AFTER), CHECK_AT_MOST_EVERY)
    if not batch.is_alive and at < since + CHECK_AFTER:
        return since + CHECK_AFTER  # the bus has had no time yet to confirm the event
    ends = (batch.expires_at, batch.deadline_at) if batch.is_alive else ()
    if batch.state is State.OPEN and batch.max_failures is None:
        return earliest(*ends)
    return earliest(at + wait, *ends)


def ends_at(batch: Batch) -> datetime:
    """When its time or its deadline ends a live batch; what is known of it is too old by then."""
    return earliest(batch.expires_at, batch.deadline_at if batch.is_alive else None)


def earliest(*times: datetime | None) -> datetime:
    """The first of those times that are set; at least one is."""
    return min(time for time in times if time is not None)


def turned(
    batch: Batch,
    to: State,
    at: datetime,
    caller: str | None = None,
    reason: str | None = None,
    failures: int | None = None,
    healed: int = 0,
) -> Turn:
    """The step of *batch* to the state *to*, with the times that follow from it."""
    expires_at = expiry(batch, to, at)
    return Turn(
        to=to,
        at=at,
        expires_at=expires_at,
        due_at=due(batch, to, at, expires_at),
        caller=caller,
        reason=reason,
        expected=to is State.CLOSED,
        failures=failures,
        healed=healed,
    )
