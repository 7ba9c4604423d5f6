"""One worker's session on a queue: its heartbeat, and the claims that it holds."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field

from fanin.errors import StoreUnavailable
from fanin.queue.context import QueueContext
from fanin.queue.rules.config import refuse_removing
from fanin.queue.rules.keys import JobKey
from fanin.queue.rules.model import SECOND_US, Job, Member

DOUBT_SECONDS = 900.0
"""How long a request that timed out can still be applied: its signature is valid for so long."""


@dataclass
class Session:
    """A session; it is over once the store says so, or once no heartbeat was confirmed for *patience*.

    *patience*: seconds; shorter than the expiry after which other workers end it. *confirmed_at*: when the
    last confirmed heartbeat was sent. *held*: the claims of this session, from before they are requested;
    None until the job is known. *doubtful*: the parts in which a request that timed out can leave a claim,
    and until when. Times are seconds of the monotonic clock.
    """

    context: QueueContext
    member: Member
    patience: float
    confirmed_at: float
    lost: bool = False
    held: dict[str, Job | None] = field(default_factory=dict)
    doubtful: dict[int, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def id(self) -> str:
        return self.member.id

    def alive(self) -> bool:
        """Return whether it may claim and ack; once False, it stays False."""
        if self.context.effects.monotonic() - self.confirmed_at >= self.patience:
            self.lost = True
        return not self.lost

    def beat(self) -> bool:
        """Write a heartbeat; return whether the session is still alive."""
        effects = self.context.effects
        sent_at = effects.monotonic()
        try:
            expires = effects.now() + self.member.expiry_us
            confirmed = self.context.store.beat(self.context.key, self.id, expires)
        except StoreUnavailable:
            return self.alive()
        if not confirmed:
            self.lost = True
        elif self.alive():
            self.confirmed_at = sent_at
        return not self.lost

    def end(self) -> None:
        """End and delete the session at once; no error where another worker ended it before."""
        self.lost = True
        effects, store, queue = self.context.effects, self.context.store, self.context.key
        effects.answer_of(lambda: store.end_session(queue, self.id, None))
        effects.answer_of(lambda: store.forget(queue, self.id))
        if self.member.beats:
            store.count_change(queue)

    def hold(self, claim: str, job: Job | None) -> None:
        """Record a claim: without a job before it is requested, with its job once it is granted."""
        with self.lock:
            self.held[claim] = job

    def let_go(self, claim: str) -> None:
        """Drop a claim that the store does not hold any more."""
        with self.lock:
            self.held.pop(claim, None)

    def doubt(self, claim: str, key: JobKey) -> None:
        """Drop a claim that the store may still hold; the sweep of its part frees it."""
        with self.lock:
            self.held.pop(claim, None)
            self.doubtful[key.part.number] = self.context.effects.monotonic() + DOUBT_SECONDS

    def doubts(self) -> set[int]:
        """Return the parts in which the store may hold claims that this session dropped."""
        at = self.context.effects.monotonic()
        with self.lock:
            self.doubtful = {part: until for part, until in self.doubtful.items() if until > at}
            return set(self.doubtful)

    def holds(self, claim: str | None) -> bool:
        """Return whether *claim* is one of this session's."""
        with self.lock:
            return claim in self.held

    def jobs(self) -> list[Job]:
        """Return the jobs that it holds."""
        with self.lock:
            return [job for job in self.held.values() if job is not None]


def enter(context: QueueContext, seconds: float | None) -> Session:
    """Store a new session, and return it: with a heartbeat, or for *seconds* without one.

    Raises Conflict where the queue is being removed.
    """
    refuse_removing(context.key.name, context.read_config() or context.config())
    options, effects = context.options, context.effects
    now, at = effects.now(), effects.monotonic()
    beats = seconds is None
    expires_in = options.expiry if seconds is None else seconds + 1.0
    member = Member(
        id=effects.new_id(),
        beats=beats,
        expires_us=now + round(expires_in * SECOND_US),
        expiry_us=round(options.expiry * SECOND_US),
        host=socket.gethostname(),
        pid=os.getpid(),
        started_us=now,
    )
    context.config()  # the row that counts the changes of the sessions
    effects.answer_of(lambda: context.store.enter(context.key, member))
    if beats:
        with suppress(StoreUnavailable):
            context.store.count_change(context.key)
    patience = options.expiry - options.heartbeat if seconds is None else seconds
    return Session(context, member, patience, confirmed_at=at)
