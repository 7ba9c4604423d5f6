"""The service errors and delays of the batch API of a measurement, derived from a seed."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass

from examples.catalog.system.batch_api import SUCCESS_STATUS, BatchApi, Request, Ruling

__all__ = ["BatchApi", "ServiceErrors"]


@dataclass(frozen=True, slots=True)
class ServiceErrors:
    """The rates of errors in percent, and the longest duration of a call in *slow_seconds*.

    *throttled* and *failing*: of calls. *rejected*: of tasks that fail alone. *poison*: of tasks for which
    the whole call is refused.
    """

    seed: str = "1"
    throttled: float = 0
    failing: float = 0
    poison: float = 0
    rejected: float = 0
    slow_seconds: float = 0.05

    def is_hit(self, percent: float, *names: object) -> bool:
        """Whether *names* are among the *percent*; the same for the same seed."""
        return self.chance(*names) * 100 < percent

    def chance(self, *names: object) -> float:
        """Return a number from 0 up to 1, the same for the same seed and *names*."""
        text = ":".join(map(str, (self.seed, *names)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64

    def judge(self, request: Request) -> Ruling:
        """Sleep for the duration of the call and return its ruling."""
        time.sleep(self.slow_seconds * self.chance("slow", request.bundle, request.attempt))
        rejected = {name for name in request.tasks if self.is_hit(self.rejected, "rejected", name)}
        return Ruling(self._status(request), rejected)

    def _status(self, request: Request) -> int:
        once = (request.bundle, request.attempt)
        if self.is_hit(self.throttled, "throttled", *once):
            return 429
        if self.is_hit(self.failing, "failing", *once):
            return 500
        return 400 if any(self.is_poison(name) for name in request.tasks) else SUCCESS_STATUS

    def is_poison(self, task: str) -> bool:
        """Whether a call with *task* is refused as a whole."""
        return self.is_hit(self.poison, "poison", task)
