"""One worker's membership of a queue: its signs of life, and the claims that it holds."""

from __future__ import annotations

import os
import socket
import threading
from dataclasses import dataclass, field

from fanin.errors import StoreUnavailable
from fanin.queue.effects import Effects
from fanin.queue.keys import JobKey, QueueKey
from fanin.queue.model import SECOND_US, Job, Member, Options
from fanin.queue.store import SessionStore

DOUBT_SECONDS = 900.0
"""How long a request without an answer may still arrive: its signature is good for so long."""


@dataclass
class Session:
    """Alive until the store says that it was ended, or it could not speak for too long.

    *patience*: seconds without a heard heartbeat after which it gives itself up, before others may do so.
    *held*: the claims of this session, from before they are asked for; a job once it is got. *doubtful*:
    the parts in which a request without an answer may yet leave a claim, and until when.
    """

    store: SessionStore
    queue: QueueKey
    member: Member
    effects: Effects
    patience: float
    heard_at: float
    lost: bool = False
    held: dict[str, Job | None] = field(default_factory=dict)
    doubtful: dict[int, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def id(self) -> str:
        return self.member.id

    def alive(self) -> bool:
        """Whether it may claim and ack; once it may not, it never will again."""
        if self.effects.monotonic() - self.heard_at >= self.patience:
            self.lost = True
        return not self.lost

    def beat(self) -> bool:
        """Give a sign of life; whether the session is still alive."""
        sent_at = self.effects.monotonic()
        try:
            expires = self.effects.now() + self.member.expiry_us
            heard = self.store.beat(self.queue, self.id, expires)
        except StoreUnavailable:
            return self.alive()
        if not heard:
            self.lost = True
        elif self.alive():
            self.heard_at = sent_at
        return not self.lost

    def end(self) -> None:
        """Leave at once, instead of being missed; harmless where others were faster."""
        self.lost = True
        self.effects.insist(lambda: self.store.end_session(self.queue, self.id, None))
        self.effects.insist(lambda: self.store.forget(self.queue, self.id))

    def hold(self, claim: str, job: Job | None) -> None:
        """Know a claim as one's own, before it is asked for (no job yet) and when it is got."""
        with self.lock:
            self.held[claim] = job

    def let_go(self, claim: str) -> None:
        """The claim is over, and the store knows."""
        with self.lock:
            self.held.pop(claim, None)

    def doubt(self, claim: str, key: JobKey) -> None:
        """Let go of a claim of which the store may know otherwise: the sweep of that part will tell."""
        with self.lock:
            self.held.pop(claim, None)
            self.doubtful[key.part.number] = self.effects.monotonic() + DOUBT_SECONDS

    def doubts(self) -> set[int]:
        """The parts that may hold claims of this session that it does not know."""
        at = self.effects.monotonic()
        with self.lock:
            self.doubtful = {part: until for part, until in self.doubtful.items() if until > at}
            return set(self.doubtful)

    def holds(self, claim: str | None) -> bool:
        with self.lock:
            return claim in self.held

    def jobs(self) -> list[Job]:
        """The jobs it holds now."""
        with self.lock:
            return [job for job in self.held.values() if job is not None]


def enter(
    store: SessionStore, queue: QueueKey, options: Options, effects: Effects, seconds: float | None
) -> Session:
    """Become a member: with a heartbeat, or for a fixed number of *seconds* without one."""
    now, at = effects.now(), effects.monotonic()
    beats = seconds is None
    life = options.expiry if seconds is None else seconds + 1.0
    member = Member(
        id=effects.new_id(),
        beats=beats,
        expires_us=now + round(life * SECOND_US),
        expiry_us=round(options.expiry * SECOND_US),
        host=socket.gethostname(),
        pid=os.getpid(),
        started_us=now,
    )
    effects.insist(lambda: store.enter(queue, member))
    patience = options.expiry - options.heartbeat if seconds is None else seconds
    return Session(store, queue, member, effects, patience, heard_at=at)
