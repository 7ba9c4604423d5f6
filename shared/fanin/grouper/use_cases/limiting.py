"""The rate limit of a target, kept in the store, so all handlers and lanes share it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from fanin.grouper.rules.model import RATE, Lane
from fanin.grouper.rules.rate import token
from fanin.grouper.settings.policy import Policy
from fanin.grouper.world import World

TAKE_ATTEMPTS = 4
CONTENDED_WAIT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Limiter:
    """Takes tokens of a target's rate.

    A token that is taken and not used is lost; the rate is never exceeded.
    """

    world: World

    def take(self, lane: Lane, policy: Policy) -> timedelta:
        """Take a token and return 0, or return how long to wait before the next try."""
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
        return CONTENDED_WAIT
