"""The targets of a tenant, and what waits and is under way for each: by a bounded number of reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from math import ceil

from fanin.grouper.rules.model import RATE, Candidate, Lane, Lease
from fanin.grouper.rules.rate import token
from fanin.grouper.settings.policy import Policies, Policy
from fanin.grouper.store import Page
from fanin.grouper.world import World

WAITING_SEEN = 100
"""Waiting tasks of a lane that are read; of more, the count is a lower bound."""
BUNDLES_SEEN = 10
"""The newest bundles of a target that are read, at least one of each lane."""
LANES_A_PAGE = 64
"""Lanes that one page reads: that many targets of one lane, or one target of the most lanes."""


@dataclass(frozen=True, slots=True)
class TargetView:
    """A target: its policy's *pattern*, None for the default, and what was seen of its tasks.

    *waiting*: tasks that wait for a bundle, *waiting_more* if there are others. *in_flight*: those of the
    newest bundles that have not ended. *next_window_at*: when the next bundle is filled at the latest; None
    if nothing waits. *next_call_at*: when the rate allows a call; None if it does now.
    *rate*: calls a second that the policy allows; None without a limit. *leaders*: the lanes that a leader
    fills bundles for, and *lease_until*: when the last of their leases ends.
    """

    target: str
    pattern: str | None
    shards: int
    waiting: int
    waiting_more: bool
    in_flight: int
    next_window_at: datetime | None
    next_call_at: datetime | None
    rate: float | None
    leaders: int
    lease_until: datetime | None


def page(world: World, tenant: str, limit: int, cursor: str | None) -> Page[TargetView]:
    """Return up to *limit* targets of a tenant after *cursor*, by name, from an index.

    A target is listed once a leader was elected for it. A page ends early when it has read enough lanes.
    """
    found = world.store.targets_of(tenant, limit, cursor)
    names: list[str] = []
    lanes = 0
    for name in found.rows:
        lanes += world.policies.of(name).shards
        if names and lanes > LANES_A_PAGE:
            return Page(_views(world, tenant, names), names[-1])
        names.append(name)
    return Page(_views(world, tenant, names), found.cursor)


def _views(world: World, tenant: str, names: Sequence[str]) -> list[TargetView]:
    return world.each(lambda name: _view(world, tenant, name), names)


def _view(world: World, tenant: str, target: str) -> TargetView:
    policy = world.policies.of(target)
    lanes = [Lane(tenant, target, str(shard)) for shard in range(policy.shards)]
    waiting = [world.store.waiting(lane, WAITING_SEEN, None) for lane in lanes]
    leases = _held(world, lanes)
    return TargetView(
        target=target,
        pattern=_pattern(world.policies, target),
        shards=policy.shards,
        waiting=sum(len(each.rows) for each in waiting),
        waiting_more=any(each.cursor is not None for each in waiting),
        in_flight=sum(_in_flight(world, lane, ceil(BUNDLES_SEEN / policy.shards)) for lane in lanes),
        next_window_at=min(
            (_window(each.rows, policy, world.now()) for each in waiting if each.rows), default=None
        ),
        next_call_at=_next_call_at(world, lanes[0], policy),
        rate=policy.rate,
        leaders=len(leases),
        lease_until=max((lease.until for lease in leases), default=None),
    )


def _held(world: World, lanes: Sequence[Lane]) -> Sequence[Lease]:
    """Return the leases of the lanes that have a leader now."""
    found = [world.store.lease(lane) for lane in lanes]
    return [lease for lease in found if lease is not None and lease.is_held(world.now())]


def _in_flight(world: World, lane: Lane, newest: int) -> int:
    keys = world.store.bundles_of(lane, newest, None).rows
    bundles = [world.store.bundle(key) for key in keys]
    return sum(not bundle.is_void and not bundle.state.ended for bundle in bundles if bundle)


def _window(waiting: Sequence[Candidate], policy: Policy, now: datetime) -> datetime:
    """Return when a bundle of the waiting tasks is filled: now if it is full, else after *max_delay*."""
    if sum(each.due_at <= now for each in waiting) >= policy.max_size:
        return now
    return max(now, min(each.due_at for each in waiting) + policy.max_delay)


def _next_call_at(world: World, lane: Lane, policy: Policy) -> datetime | None:
    if policy.rate is None:
        return None
    now = world.now()
    wait = token(world.store.full_at(Lane(lane.tenant, lane.target, RATE)), policy, now).wait
    return now + wait if wait else None


def _pattern(policies: Policies, target: str) -> str | None:
    return next((pattern for pattern, _ in policies.patterns if fnmatchcase(target, pattern)), None)
