"""How a batch API of the benchmarks is: slow, throttling and failing, all by a seed."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass

from pipeline.demo.batch_api import DONE, BatchApi, Request, Ruling

__all__ = ["BatchApi", "Weather"]


@dataclass(frozen=True, slots=True)
class Weather:
    """How many percent of calls are *throttled*, or *failing*, and of tasks are *rejected* by themselves, or
    *poison*, for which the whole call is refused. *slow_seconds*: how long a call takes at most.
    """

    seed: str = "1"
    throttled: float = 0
    failing: float = 0
    poison: float = 0
    rejected: float = 0
    slow_seconds: float = 0.05

    def is_hit(self, percent: float, *names: object) -> bool:
        """Whether what goes by these *names* is among the *percent*, the same again for the same seed."""
        return self.chance(*names) * 100 < percent

    def chance(self, *names: object) -> float:
        text = ":".join(map(str, (self.seed, *names)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64

    def judge(self, request: Request) -> Ruling:
        """The answer to a call, after as long as it takes."""
        time.sleep(self.slow_seconds * self.chance("slow", request.bundle, request.attempt))
        rejected = {name for name in request.tasks if self.is_hit(self.rejected, "rejected", name)}
        return Ruling(self._status(request), rejected)

    def _status(self, request: Request) -> int:
        once = (request.bundle, request.attempt)
        if self.is_hit(self.throttled, "throttled", *once):
            return 429
        if self.is_hit(self.failing, "failing", *once):
            return 500
        return 400 if any(self.is_poison(name) for name in request.tasks) else DONE

    def is_poison(self, task: str) -> bool:
        return self.is_hit(self.poison, "poison", task)
