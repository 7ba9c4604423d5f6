"""The stage in which items of some sections are bundled: how, for whom, and what came of it."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus

from fanin.grouper import Policy
from fanin.grouper.rate import token
from pipeline.demo.batch_api import Call, Request, Ruling

CALLS_A_SECOND = 2.0
"""What the API takes; a call beyond is refused with 429."""
LOSE_EVERY = 10
"""With chaos, of so many bundles one is done and its answer lost, the first bundle's among them."""
POLICY = {
    "pattern": "*",
    "lingerSeconds": 3,
    "maxDelaySeconds": 10,
    "maxSize": 50,
    # Each section by itself keeps to half of what the API takes: together they may still meet.
    "rate": CALLS_A_SECOND / 2,
    # A refusal is an attempt, too, and nothing that is wrong with a bundle.
    "maxAttempts": 50,
}
HANDLERS = ("demo_worker", "lead_tasks", "handle_bundle", "sweep_groups")


def settings(sections: Iterable[str], url: str) -> dict[str, str]:
    """What the deployed functions are told: whose packages are bundled, how, and which API is called."""
    return {
        "FANIN_BUNDLED_SECTIONS": ",".join(sorted(sections)),
        "FANIN_GROUPER_POLICIES": json.dumps([POLICY]),
        "FANIN_GROUPER_DOWNSTREAM": json.dumps([{"pattern": "*", "url": url, "timeoutSeconds": 10}]),
    }


@dataclass
class RateLimited:
    """A judge that takes *rate* calls a second, and answers a bundle that comes again as before.

    Of every *lose_every* bundles the first one's answer is lost; of none where that is 0.
    """

    rate: float = CALLS_A_SECOND
    lose_every: int = 0
    now: Callable[[], float] = time.time
    _full_at: datetime | None = None
    _done: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def judge(self, request: Request) -> Ruling:
        """A refusal, or the work of all tasks, once a bundle."""
        with self._lock:
            if not self._admits():
                return Ruling(HTTPStatus.TOO_MANY_REQUESTS, retry_after=1)
            if request.bundle in self._done:
                return Ruling(HTTPStatus.OK, again=True)
            self._done.add(request.bundle)
            return Ruling(
                HTTPStatus.OK, lost=bool(self.lose_every) and len(self._done) % self.lose_every == 1
            )

    def _admits(self) -> bool:
        at = datetime.fromtimestamp(self.now(), UTC)
        taken = token(self._full_at, Policy(rate=self.rate), at)
        self._full_at = self._full_at if taken.wait else taken.full_at
        return not taken.wait


@dataclass(frozen=True, slots=True)
class Bundled:
    """What came of the stage; *done*: how many successful calls each package was in."""

    calls: int = 0
    bundles: int = 0
    refused: int = 0
    lost: int = 0
    done: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, calls: Sequence[Call]) -> Bundled:
        """The account of a book."""
        rulings = [call.ruling for call in calls]
        packages = (payload["package"] for call in calls for payload in call.succeeded.values())
        return cls(
            calls=len(calls),
            bundles=len({call.request.bundle for call in calls}),
            refused=sum(ruling.status == HTTPStatus.TOO_MANY_REQUESTS for ruling in rulings),
            lost=sum(ruling.lost for ruling in rulings),
            done=Counter(packages),
        )

    @property
    def tasks(self) -> int:
        """Tasks that were done."""
        return sum(self.done.values())

    @property
    def mean_size(self) -> float:
        """Tasks of a bundle."""
        return self.tasks / self.bundles if self.bundles else 0.0

    @property
    def saved(self) -> int:
        """Calls that were not made, for each task would have been one; refused calls count as made."""
        return self.tasks - self.calls

    def facts(self) -> dict[str, float]:
        """The account for a program."""
        return {
            "tasks": self.tasks,
            "bundles": self.bundles,
            "meanSize": round(self.mean_size, 1),
            "calls": self.calls,
            "callsSaved": self.saved,
            "refused": self.refused,
            "answersLost": self.lost,
        }
