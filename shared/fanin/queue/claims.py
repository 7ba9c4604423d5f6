"""Taking jobs under a session, and ending or returning them: every step compares the claim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from fanin.errors import StoreUnavailable
from fanin.queue import lifecycle
from fanin.queue.doorbell import Doorbell
from fanin.queue.effects import Effects
from fanin.queue.errors import LostClaim
from fanin.queue.keys import PartKey, QueueKey
from fanin.queue.lifecycle import Fate
from fanin.queue.model import SECOND_US, Dead, Entry, GivenBack, Job, Options, Ring
from fanin.queue.session import Session
from fanin.queue.store import QueueStore, Write

CLAIM_ROUNDS = 8
END_ATTEMPTS = 8
ERROR_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one session on one queue."""

    store: QueueStore
    doorbell: Doorbell
    queue: QueueKey
    options: Options
    effects: Effects
    session: Session

    def take(self, parts: Iterable[int], most: int) -> list[Job]:
        """Claim up to *most* of the first ready jobs of some parts, by priority, then by time."""
        keys = [PartKey(self.queue, part) for part in parts]
        for attempt in range(CLAIM_ROUNDS):
            found = self.effects.each(lambda key: self.store.ready(key, most), keys)
            heads = [entry for entries in found for entry in entries]
            taken = self.take_these(sorted(heads, key=lambda entry: entry.ix), most)
            if taken or not heads:
                return taken
            self.effects.pause(attempt)
        return []

    def take_these(self, heads: Sequence[Entry], most: int) -> list[Job]:
        """Claim up to *most* of these jobs, as far as they are still ready, in this order."""
        taken: list[Job] = []
        try:
            for head in heads:
                if len(taken) == most or not self.session.alive():
                    break
                job = self._claim(head)
                taken += [job] if job else []
        except BaseException:
            self.give_back_all(taken)
            raise
        return taken

    def end(self, job: Job, writes: Sequence[Write] = (), dead: Dead | None = None) -> Job:
        """End a job with the user's *writes*, once; the ended job.

        Raises LostClaim where the claim is gone, and then nothing was written; StaleWrite where a condition
        among *writes* failed, and the claim holds; StoreUnavailable where the outcome is unknown.
        """
        if not self.session.alive():
            raise self._lost(job)
        for attempt in range(END_ATTEMPTS):
            stored = self._try_to_end(job, writes, dead)
            fate = lifecycle.fate(stored, job)
            if fate is Fate.ENDED and stored is not None:
                self._is_over(job, stored)
                return stored
            if fate is Fate.LOST:
                raise self._lost(job)
            if fate is Fate.HELD and stored is not None:
                job = stored  # a run was asked for meanwhile
            self.effects.pause(attempt)
        raise StoreUnavailable("whether the job was ended is unknown; it is found out before it runs again")

    def give_back(self, job: Job, *, failed: bool, delay: float = 0.0, error: str = "") -> None:
        """Return a job to its place, or to the dead where it failed too often. A lost claim is no error."""
        most = self.options.max_failures
        if failed and most is not None and job.failures + 1 >= most:
            self._bury(job, error)
            return
        at = self.effects.now()
        due = at + round(delay * SECOND_US) if delay > 0 else None
        how = GivenBack(at, failed, due)
        try:
            self.effects.insist(lambda: self.store.give_back(lifecycle.entry_of(job), how))
        except StoreUnavailable:
            self.abandon(job)
        except BaseException:
            self.abandon(job)
            raise
        self.session.let_go(job.claim or "")
        self._ring(job, delay)

    def give_back_all(self, jobs: Iterable[Job]) -> None:
        """Return jobs that nobody has worked on."""
        for job in jobs:
            self.give_back(job, failed=False)

    def abandon(self, job: Job) -> None:
        """Let go of a job of which nobody could be asked: the sweep frees it, if it is still claimed."""
        self.session.doubt(job.claim or "", job.key)

    def _claim(self, head: Entry) -> Job | None:
        """One claim, known as ours before it is asked for, so that no interruption loses it."""
        claim = self.effects.new_id()
        self.session.hold(claim, None)
        try:
            job = self.store.claim(head, self.session.id, claim, self.effects.now())
        except StoreUnavailable:
            self.session.doubt(claim, head.key)
            return None
        except BaseException:
            self.session.doubt(claim, head.key)
            raise
        if job is None:
            self.session.let_go(claim)
        else:
            self.session.hold(claim, job)
        return job

    def _try_to_end(self, job: Job, writes: Sequence[Write], dead: Dead | None) -> Job | None:
        """The job as stored after the attempt; as it was where nobody answered."""
        try:
            at = dead.died_us if dead else self.effects.now()
            return self.store.end(job, at, writes, dead)
        except StoreUnavailable:
            return job

    def _is_over(self, job: Job, stored: Job) -> None:
        self.session.let_go(job.claim or "")
        if stored.is_live:
            self._ring(stored, 0.0)

    def _bury(self, job: Job, error: str) -> None:
        at = self.effects.now()
        worked = job.busy_us + lifecycle.worked(job.claimed_us, at)
        failed = replace(job, failures=job.failures + 1, busy_us=worked)
        said = error[:ERROR_CHARACTERS].encode(errors="replace").decode()
        try:
            self.end(job, dead=Dead(failed, said, at))
        except StoreUnavailable:
            self.abandon(job)
        except LostClaim:
            return  # it runs elsewhere, and may fail there
        except BaseException:
            self.abandon(job)
            raise

    def _lost(self, job: Job) -> LostClaim:
        self.session.let_go(job.claim or "")
        return LostClaim(f"the claim on job {job.name!r} is gone; it runs elsewhere and nothing was written")

    def _ring(self, job: Job, delay: float) -> None:
        with suppress(StoreUnavailable):
            self.doorbell.ring([Ring(job.key.part.number, due=delay > 0)], delay)
