"""The listings of a queue, its depth, and the revival of dead jobs."""

from __future__ import annotations

from dataclasses import replace

from fanin.arguments import instance
from fanin.errors import StoreUnavailable
from fanin.queue.administration.counting import depth_of
from fanin.queue.administration.part_reads import look
from fanin.queue.context import QueueContext
from fanin.queue.maintenance.sleeping import wake, wake_before
from fanin.queue.rules import lifecycle
from fanin.queue.rules.key_rows import Check
from fanin.queue.rules.model import Dead, Depth, Job, JobState, Member, Ring
from fanin.queue.rules.taking import checked_limit

REVIVE_ATTEMPTS = 8


class Listings:
    """What a queue shows of its jobs and sessions."""

    context: QueueContext

    def queued(self, limit: int = 100) -> list[Job]:
        """Return the first ready jobs; the order is exact in each part, and merged over the parts."""
        return sorted(self._first(JobState.READY, limit), key=_in_index)[:limit]

    def in_progress(self, limit: int = 100) -> list[Job]:
        """Return the busy jobs, in the order of their positions."""
        return sorted(self._first(JobState.BUSY, limit), key=lambda job: job.position)[:limit]

    def delayed(self, limit: int = 100) -> list[Job]:
        """Return the delayed jobs, the next due first."""
        return sorted(self._first(JobState.DELAYED, limit), key=_in_index)[:limit]

    def dead(self, limit: int = 100) -> list[Dead]:
        """Return the dead jobs, the longest dead first."""
        context, most = self.context, checked_limit(limit)
        found = context.effects.each(lambda part: context.store.dead(part, most), context.parts())
        return sorted((dead for some in found for dead in some), key=lambda dead: dead.died_us)[:limit]

    def sessions(self) -> list[Member]:
        """Return the stored sessions, each with its host, process, start and heartbeats."""
        return list(self.context.store.members(self.context.key))

    def depth(self) -> Depth:
        """Return the number of jobs in each state, and the longest wait of a part's first ready job.

        The reads are bounded: beyond some thousand jobs the numbers are estimates, as *accuracy* says.
        """
        return depth_of(self.context, look(self.context, self.context.parts()))

    def revive(self, dead: Dead) -> bool:
        """Return a dead job to its old position without failures; return whether this call did.

        False where a job of its key is live, or this record was revived before: perhaps by a call of this
        process that raised StoreUnavailable, because its request can have been applied.
        A request that timed out is sent again, and recognised by the revival id that it stored.
        """
        context = self.context
        instance(dead, Dead, "a dead job", "dead")
        for attempt in range(REVIVE_ATTEMPTS):
            rows = context.rows(dead.job.name)
            over, check = context.store.get(rows.at), context.check(rows.other)
            if (over is not None and over.is_live) or (check is not None and check.is_live):
                return False
            wake_before(context)
            job = lifecycle.revived(dead, context.effects.now(), over, context.effects.new_id())
            job = replace(job, key=rows.at)
            stored = _revive(context, dead, job, over, check)
            wake(context)
            if stored is not None and stored.revival == job.revival:
                context.ring([Ring(job.key.part.number)])
                return True
            if stored == over and context.check(rows.other) == check:
                return False  # only the record of the dead job is gone: it was revived before
            context.effects.pause(attempt)
        raise StoreUnavailable(f"job {dead.job.name!r}: too many adds of its key at once; call revive again")

    def _first(self, state: JobState, limit: int) -> list[Job]:
        """Return up to *limit* jobs in a state from each part."""
        context, most = self.context, checked_limit(limit)
        per_part = context.effects.each(lambda part: context.store.jobs(part, state, most), context.parts())
        return [job for jobs in per_part for job in jobs]


def _in_index(job: Job) -> str:
    return job.ix or ""


def _revive(context: QueueContext, dead: Dead, job: Job, over: Job | None, check: Check | None) -> Job | None:
    return context.effects.answer_of(lambda: context.store.revive(dead, job, over, check))
