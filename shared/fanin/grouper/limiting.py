"""A limit on the calls of a target, kept in the store: it holds across leaders, handlers and lanes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from fanin.grouper.model import RATE, Lane
from fanin.grouper.policy import Policy
from fanin.grouper.rate import token
from fanin.grouper.world import World

TAKE_ATTEMPTS = 4
CROWDED = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Limiter:
    """Hands out tokens. One that was taken and not used is lost: the limit is never passed, only missed."""

    world: World

    def take(self, lane: Lane, policy: Policy) -> timedelta:
        """Nothing where a call may be made now, else how long to wait before asking again."""
        if policy.rate is None:
            return timedelta()
        bucket = Lane(lane.tenant, lane.target, RATE)
        for _ in range(TAKE_ATTEMPTS):
            seen = self.world.store.full_at(bucket)
            taken = token(seen, policy, self.world.now())
            if taken.wait:
                return taken.wait
            if self.world.store.put_full_at(bucket, seen, taken.full_at):
                return timedelta()
        return CROWDED
