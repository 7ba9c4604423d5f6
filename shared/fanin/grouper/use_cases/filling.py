"""Fills a bundle with candidates from the index; the claim's transaction checks each task's stored state."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from fanin.errors import StoreUnavailable
from fanin.grouper.rules import protocol as rules
from fanin.grouper.rules.model import Bundle, BundleState, Candidate, Lease, Task
from fanin.grouper.world import World

QUERIES = 3
WIDENINGS, WIDER = 3, 4
"""Queries at most until enough due tasks are found, each with a limit WIDER times the one before."""
CLAIM_ATTEMPTS = 8
FIRST_PAUSE_SECONDS = 0.02


@dataclass
class Filler:
    """Fills the bundles of one leader. *stale*: ids that the index may still show and that cannot join."""

    world: World
    stale: set[str] = field(default_factory=set)
    longest_wait: timedelta = timedelta()

    def fill(self, term: Lease, own: Task | None) -> tuple[Bundle | None, bool]:
        """Fill and return the bundle of a term, None if it has no member, and whether to fill another.

        *own*: the task of the leader's message; it is claimed even if the index does not show it yet.
        """
        policy = self.world.policies.of(term.lane.target)
        bundle = rules.empty_bundle(term, self.world.now(), self.world.timing)
        for _ in range(QUERIES):
            found = self._fresh(bundle, policy.max_size, own)
            if (
                own is None
                and not bundle.members
                and not rules.worth_another(found, policy, self.world.now())
            ):
                break
            found = found[: policy.max_size - len(bundle.members)]
            wanted = [candidate.task_id for candidate in found]
            bundle, leads = self._claim_all(bundle, wanted, term)
            self._note_waits(bundle, found)
            if not wanted or not leads or len(bundle.members) == policy.max_size:
                break
        full = len(bundle.members) == policy.max_size
        more = full and bundle.state is BundleState.OPEN and self._in_time(term)
        return (bundle if bundle.members else None), more

    def _fresh(self, bundle: Bundle, size: int, own: Task | None) -> list[Candidate]:
        """Return candidates that this leader has not tried, its own task first."""
        known = self.stale | set(bundle.members)
        fresh = self._due(bundle, size, known)
        if own is None or own.task_id in known:
            return fresh
        others = [c for c in fresh if c.task_id != own.task_id]
        return [Candidate(own.lane, own.task_id, own.due_at), *others]

    def _due(self, bundle: Bundle, size: int, known: set[str]) -> list[Candidate]:
        """Return due tasks that are not known; query more rows if tasks in backoff come first."""
        limit = size + len(known)
        for _ in range(WIDENINGS):
            found = self.world.store.candidates(bundle.lane, limit)
            fresh = [c for c in found if c.task_id not in known and c.due_at <= bundle.created_at]
            if len(fresh) >= size or len(found) < limit:
                break
            limit *= WIDER
        return fresh

    def _claim_all(self, bundle: Bundle, wanted: list[str], term: Lease) -> tuple[Bundle, bool]:
        """Claim *wanted* in chunks; return the bundle and whether its leader still leads."""
        for joining in rules.chunks(wanted, self.world.timing.chunk):
            if not self._in_time(term):
                return bundle, False
            bundle, leads = self._claim(bundle, joining)
            if not leads:
                return bundle, False
        return bundle, True

    def _claim(self, bundle: Bundle, joining: tuple[str, ...]) -> tuple[Bundle, bool]:
        """Claim *joining* in one transaction, repeated without the tasks that cannot join."""
        for attempt in range(CLAIM_ATTEMPTS):
            if not joining:
                return bundle, True
            claim = self.world.store.claim(bundle.joined(joining), joining)
            stored = claim.bundle
            if stored is not None and set(joining) <= set(stored.members):
                self.stale.update(joining)
                return stored, stored.state is BundleState.OPEN
            if stored is not None and (stored.state, stored.version) != (BundleState.OPEN, bundle.version):
                return (bundle if not stored.members else stored), False
            self.stale |= claim.refused
            joining = tuple(task_id for task_id in joining if task_id not in claim.refused)
            if not claim.refused:
                self.world.pause(self.world.jitter() * FIRST_PAUSE_SECONDS * 2**attempt)
        raise StoreUnavailable("the claim of a bundle's tasks failed in each of its attempts; retry")

    def _note_waits(self, bundle: Bundle, found: list[Candidate]) -> None:
        """Update the longest time from due to bundled."""
        now = self.world.now()
        waits = [now - candidate.due_at for candidate in found if candidate.task_id in bundle.members]
        self.longest_wait = max([self.longest_wait, *waits])

    def _in_time(self, term: Lease) -> bool:
        """Whether the lease lasts longer than its margin.

        A slow leader stops filling before its lease ends.
        """
        return self.world.now() + self.world.timing.margin < term.until
