"""The bundling stage of the demo: its settings, its judge, and its outcome."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus

from examples.catalog.system.batch_api import Call, Request, Ruling
from fanin.grouper import Policy
from fanin.grouper.rules.rate import token
from fanin.settings.settings_file import VARIABLE, SettingsFile

CALLS_A_SECOND = 6.0
"""The rate limit of the API; calls beyond it are refused with 429."""
SECTION_CALLS = CALLS_A_SECOND / 2
"""Each section is limited to half the rate of the API; together they may still exceed it."""
RETRY_AFTER = 1
"""The seconds that a refused call is asked to wait."""
FILL_SECONDS = 2
"""So long does a task wait at most for a full bundle: about a twentieth of the time of the whole stage."""
LOSE_EVERY = 10
"""With chaos, the answer to one of this many bundles is lost, beginning with the first."""
POLICY = {
    "pattern": "*",
    "lingerSeconds": 1,
    "maxDelaySeconds": FILL_SECONDS,
    "maxSize": 50,
    "rate": SECTION_CALLS,
    # A refusal counts as an attempt, although the bundle is valid.
    "maxAttempts": 50,
}
HANDLERS = ("worker", "consume_tasks", "lead_tasks", "handle_bundle", "sweep_groups")


def settings(sections: Iterable[str], url: str) -> dict[str, str]:
    """Return the settings of the deployed functions: the bundled sections, the policy, and the API's URL."""
    downstream = {"pattern": "*", "url": url, "timeoutSeconds": 10}
    file = SettingsFile(grouper_policies=[POLICY], grouper_downstream=[downstream])
    return {"BUNDLED_SECTIONS": ",".join(sorted(sections)), VARIABLE: file.to_json()}


@dataclass
class RateLimited:
    """A judge that accepts *rate* calls a second, and answers a repeated bundle as before.

    The answer to one of every *lose_every* bundles is lost, beginning with the first; none if that is 0. Only
    that to a first attempt is: the backoff doubles with each attempt, and refused ones count.
    """

    rate: float = CALLS_A_SECOND
    lose_every: int = 0
    now: Callable[[], float] = time.time
    _full_at: datetime | None = None
    _accepted: set[str] = field(default_factory=set)
    _lost: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def judge(self, request: Request) -> Ruling:
        """Return a refusal, or do all tasks of a bundle once."""
        with self._lock:
            if not self._admits():
                return Ruling(HTTPStatus.TOO_MANY_REQUESTS, retry_after=RETRY_AFTER)
            if request.bundle in self._accepted:
                return Ruling(HTTPStatus.OK, again=True)
            self._accepted.add(request.bundle)
            return Ruling(HTTPStatus.OK, lost=self._loses(request))

    def _loses(self, request: Request) -> bool:
        is_due = self.lose_every > 0 and len(self._accepted) > self._lost * self.lose_every
        lost = is_due and request.attempt == 1
        self._lost += lost
        return lost

    def _admits(self) -> bool:
        at = datetime.fromtimestamp(self.now(), UTC)
        taken = token(self._full_at, Policy(rate=self.rate), at)
        self._full_at = self._full_at if taken.wait else taken.full_at
        return not taken.wait


@dataclass(frozen=True, slots=True)
class Bundled:
    """The outcome of the stage; *successes*: the number of successful calls of each package."""

    calls: int = 0
    bundles: int = 0
    refused: int = 0
    lost: int = 0
    successes: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, calls: Sequence[Call]) -> Bundled:
        """Return the outcome of the recorded calls."""
        rulings = [call.ruling for call in calls]
        packages = (payload["package"] for call in calls for payload in call.succeeded.values())
        return cls(
            calls=len(calls),
            bundles=len({call.request.bundle for call in calls}),
            refused=sum(ruling.status == HTTPStatus.TOO_MANY_REQUESTS for ruling in rulings),
            lost=sum(ruling.lost for ruling in rulings),
            successes=Counter(packages),
        )

    @property
    def tasks(self) -> int:
        """Return the number of tasks done."""
        return sum(self.successes.values())

    @property
    def mean_size(self) -> float:
        """Return the tasks per bundle."""
        return self.tasks / self.bundles if self.bundles else 0.0

    @property
    def saved(self) -> int:
        """Return the calls saved over one call per task; refused calls count as made."""
        return self.tasks - self.calls

    def facts(self) -> dict[str, float]:
        """Return the outcome as JSON fields."""
        return {
            "tasks": self.tasks,
            "bundles": self.bundles,
            "meanSize": round(self.mean_size, 1),
            "calls": self.calls,
            "callsSaved": self.saved,
            "refused": self.refused,
            "answersLost": self.lost,
        }
