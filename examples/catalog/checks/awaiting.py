"""Says what the demo still waits for, and why, once all messages are sent. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self

from examples.catalog.system import bundles
from examples.catalog.system.batch_api import Call
from pipeline.shared_by_jobs.progress import count

FAILED = "at work, or redelivered 1 s after they failed on purpose"
LOST = "called again 1 to 2 s after a response that was lost on purpose"
REFUSED = f"called again {bundles.RETRY_AFTER} s after a refusal (429)"
UNFILLED = (
    f"in bundles that fill for up to {bundles.FILL_SECONDS} s, then {bundles.SECTION_CALLS:g} calls a second "
    "for each section"
)


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Bundles that are called again after a *lost* response or a refusal; *tasks* of the latter."""

    lost: int = 0
    refused: int = 0
    tasks: int = 0

    @classmethod
    def of(cls, calls: Sequence[Call]) -> Self:
        """Return what the last call of each bundle left."""
        last = {call.request.bundle: call for call in calls}.values()
        answered = {call.request.bundle for call in calls if call.succeeded}
        refused = [call.request for call in last if call.ruling.status == HTTPStatus.TOO_MANY_REQUESTS]
        return cls(
            lost=sum(call.ruling.lost for call in last),
            refused=len(refused),
            tasks=sum(len(request.tasks) for request in refused if request.bundle not in answered),
        )


@dataclass(frozen=True, slots=True)
class Awaited:
    """What is outstanding: messages *waiting* in their queue or *in_hand*, *tasks*, *bundles* and *jobs*.

    In hand is also what failed on purpose, until it is visible again. *tasks* are not done yet.
    """

    waiting: int
    in_hand: int
    tasks: int
    bundles: Unanswered
    jobs: int

    def reasons(self) -> tuple[str, ...]:
        """Return a clause for each kind that is outstanding, with what it waits for."""
        filling = self.tasks - self.bundles.tasks
        clauses = (
            (self.waiting, f"{count(self.waiting, 'message')} in the queue"),
            (self.in_hand, f"{count(self.in_hand, 'message')} {FAILED}"),
            (self.bundles.lost, f"{count(self.bundles.lost, 'bundle')} {LOST}"),
            (self.bundles.refused, f"{count(self.bundles.refused, 'bundle')} {REFUSED}"),
            (filling, f"{count(filling, 'task')} {UNFILLED}"),
            (self.jobs, f"{count(self.jobs, 'job')} of the work queue"),
        )
        return tuple(clause for number, clause in clauses if number > 0)
