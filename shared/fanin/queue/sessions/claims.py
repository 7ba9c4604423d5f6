"""Claims jobs under a session, and ends or returns them; every write compares the claim."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from fanin.errors import PartFull, StoreUnavailable
from fanin.queue.context import QueueContext
from fanin.queue.rules import lifecycle
from fanin.queue.rules.errors import LostClaim
from fanin.queue.rules.lifecycle import ClaimStatus, outbox_entry
from fanin.queue.rules.model import SECOND_US, Dead, Entry, GivenBack, Job, Ring
from fanin.queue.sessions.session import Session
from fanin.queue.store import Write
from fanin.user_functions import finished, has_text, text_of

logger = logging.getLogger("fanin")

CLAIM_ROUNDS = 8
END_ATTEMPTS = 8
ERROR_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one session on one queue."""

    context: QueueContext
    session: Session

    def take(self, parts: Iterable[int], most: int) -> list[Job]:
        """Claim up to *most* of the first ready jobs of *parts*, by priority, then by time."""
        keys = [self.context.part(part) for part in parts]
        store, effects = self.context.store, self.context.effects
        for attempt in range(CLAIM_ROUNDS):
            found = effects.each(lambda key: store.ready(key, most), keys)
            heads = [entry for entries in found for entry in entries]
            taken = self.take_these(sorted(heads, key=lambda entry: entry.ix), most)
            if taken or not heads:
                return taken
            effects.pause(attempt)
        return []

    def take_each(self, wanted: Mapping[int, int]) -> list[Job]:
        """Claim up to so many of the first ready jobs of each part: part -> jobs.

        Jobs that others claim meanwhile are replaced by the next ones; where they still are after some
        rounds, the doorbell is rung for what is left.
        """
        taken: list[Job] = []
        try:
            for part, most in wanted.items():
                taken += self._take_all(part, most)
        except BaseException:
            self.give_back_all(taken)
            raise
        return taken

    def _take_all(self, part: int, most: int) -> list[Job]:
        """Claim *most* jobs of a part, or all of its ready ones if they are fewer."""
        key, taken, effects = self.context.part(part), list[Job](), self.context.effects
        try:
            for attempt in range(CLAIM_ROUNDS):
                wanted = most - len(taken)
                heads = effects.answer_of(partial(self.context.store.ready, key, wanted))
                taken += self.take_these(heads, wanted)
                if len(taken) == most or not heads or not self.session.alive():
                    return taken
                effects.pause(attempt)
        except BaseException:
            self.give_back_all(taken)
            raise
        self.context.ring([Ring(part)] * (most - len(taken)))
        return taken

    def take_these(self, heads: Sequence[Entry], most: int) -> list[Job]:
        """Claim up to *most* of these jobs, in this order; those that are no longer ready are left out."""
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
        """End a job together with the user's *writes*; return what its key holds then.

        Raises LostClaim where the claim is gone and nothing was written; StaleWrite where a condition among
        *writes* failed and the claim holds; StoreUnavailable where the outcome is unknown.
        """
        if not self.session.alive():
            raise self._lost(job)
        for attempt in range(END_ATTEMPTS):
            stored = self._try_to_end(job, writes, dead)
            status = lifecycle.claim_status(stored, job)
            if status is ClaimStatus.ENDED and stored is not None:
                self._release_ended(job, stored)
                return stored
            if status is ClaimStatus.LOST:
                raise self._lost(job)
            if status is ClaimStatus.HELD and stored is not None:
                # A rerun was requested meanwhile.
                job = replace(stored, item_failure=job.item_failure, item_result=job.item_result)
            self.context.effects.pause(attempt)
        raise StoreUnavailable(f"job {job.name!r}: whether it was ended is unknown; ack it again")

    def report_end(self, job: Job, dead: Dead | None = None) -> None:
        """Report the end of a job at once; where that fails, the sweep reports its outbox entry."""
        entry, report = outbox_entry(job, dead), self.context.report
        if entry is None or report is None:
            return
        try:
            finished(report(entry), "report")
            self.context.store.delete_outbox_entry(self.context.key, entry)
        except Exception as error:  # the job is done, and the others of its scope are not affected
            line = "the end of job %s is not reported yet, the sweep repeats it: %s"
            logger.warning(line, job.id, text_of(error), exc_info=error if has_text(error) else None)

    def give_back(self, job: Job, *, failed: bool, delay: float = 0.0, error: str = "") -> None:
        """Return a job to its position, or end it as dead at ``max_failures``. A lost claim is no error."""
        most = self.context.options.max_failures
        if failed and most is not None and job.failures + 1 >= most:
            self._fail_or_abandon(job, error)
            return
        at = self.context.effects.now()
        due = at + round(delay * SECOND_US) if delay > 0 else None
        try:
            self._give_back(job, GivenBack(at, failed, due))
        except StoreUnavailable:
            self.abandon(job)
        except BaseException:
            self.abandon(job)
            raise
        self.session.let_go(job.claim or "")
        self._ring(job, delay)

    def fail(self, job: Job, error: str) -> Dead:
        """End a job as dead, however often it has failed, and return it. Raises the errors of ``end``."""
        at = self.context.effects.now()
        worked = job.busy_us + lifecycle.worked(job.claimed_us, at)
        failed = replace(job, failures=job.failures + 1, busy_us=worked)
        reason = error[:ERROR_CHARACTERS].encode(errors="replace").decode()
        dead = Dead(failed, reason, at)
        self.end(job, dead=dead)
        return dead

    def give_back_all(self, jobs: Iterable[Job]) -> None:
        """Return jobs that were not worked on."""
        for job in jobs:
            self.give_back(job, failed=False)

    def abandon(self, job: Job) -> None:
        """Drop a claim whose state in the store is unknown; the sweep frees it if it is still stored."""
        self.session.doubt(job.claim or "", job.key)

    def _claim(self, head: Entry) -> Job | None:
        """Claim one job; return None where it cannot be had.

        The session records the claim before the request, so that an interruption cannot leave it behind.
        """
        claim = self.context.effects.new_id()
        self.session.hold(claim, None)
        try:
            job = self.context.store.claim(head, self.session.id, claim, self.context.effects.now())
        except StoreUnavailable:
            self.session.doubt(claim, head.key)
            return None
        except PartFull as full:  # a claim adds attributes to the row; jobs of other parts can be claimed
            logger.warning("job %s cannot be claimed: %s", head.job_id, full)
            self.session.let_go(claim)
            return None
        except BaseException:
            self.session.doubt(claim, head.key)
            raise
        if job is None:
            self.session.let_go(claim)
        else:
            self.session.hold(claim, job)
        return job

    def _give_back(self, job: Job, release: GivenBack) -> None:
        entry = lifecycle.entry_of(job)
        self.context.effects.answer_of(lambda: self.context.store.give_back(entry, release))

    def _try_to_end(self, job: Job, writes: Sequence[Write], dead: Dead | None) -> Job | None:
        """Return the job as stored after one attempt; *job* itself where the request timed out."""
        try:
            at = dead.died_us if dead else self.context.effects.now()
            return self.context.store.end(job, at, writes, dead)
        except StoreUnavailable:
            return job

    def _release_ended(self, job: Job, stored: Job) -> None:
        """Drop the claim of an ended job, and ring for its rerun."""
        self.session.let_go(job.claim or "")
        if stored.is_live:
            self._ring(stored, 0.0)

    def _fail_or_abandon(self, job: Job, error: str) -> None:
        try:
            self.fail(job, error)
        except StoreUnavailable:
            self.abandon(job)
        except LostClaim:
            return  # it runs elsewhere, and can fail there
        except BaseException:
            self.abandon(job)
            raise

    def _lost(self, job: Job) -> LostClaim:
        self.session.let_go(job.claim or "")
        return LostClaim(f"the claim on job {job.name!r} is gone: it runs elsewhere, and nothing was written")

    def _ring(self, job: Job, delay: float) -> None:
        self.context.ring([Ring(job.key.part.number, due=delay > 0)], delay)
