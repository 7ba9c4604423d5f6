"""What one call of a queue asks for, with its arguments checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fanin.arguments import Seconds, instance, listed, seconds_of, whole
from fanin.errors import InvalidRequest
from fanin.queue.rules.keys import PARTS_MAX
from fanin.queue.rules.model import SECONDS_MAX, NewJob, Ring

TAKEN_MAX = 10_000
"""The most jobs of one take."""
LISTED_MAX = 1_000_000
"""The most jobs of one list."""


@dataclass(frozen=True, slots=True)
class TakeRequest:
    """A request of 1 to *most* jobs, with *wait* seconds to wait for the first one (None: no limit).

    *parts*: the numbers of the parts to look in; None for those of the session. *rings*: those of one
    invocation, which asks for one job at most for each, of its part, and does not wait.
    """

    most: int = 1
    wait: float | None = None
    parts: Sequence[int] | None = None
    rings: Sequence[Ring] | None = None

    def __post_init__(self) -> None:
        whole(self.most, "most", 1, TAKEN_MAX)
        object.__setattr__(self, "wait", checked_wait(self.wait))
        if self.parts is not None:
            parts = tuple(listed(self.parts, "parts", _part_number))
            if not parts:
                raise InvalidRequest("parts names a part at least; None: those of the session", field="parts")
            object.__setattr__(self, "parts", parts)

    def within(self, parts: int) -> TakeRequest:
        """Return the request to a queue of so many *parts*. Raises InvalidRequest for one beyond them."""
        beyond = [number for number in self.parts or () if number >= parts]
        if beyond:
            raise InvalidRequest(f"the queue has the parts 0 to {parts - 1}, not {beyond}", field="parts")
        return self


def checked_wait(wait: Seconds | None) -> float | None:
    """Return *wait*, None or a time, in seconds."""
    return None if wait is None else seconds_of(wait, "wait", SECONDS_MAX)


def checked_limit(limit: int) -> int:
    """Return *limit*, the most jobs of a list."""
    return whole(limit, "limit", 1, LISTED_MAX)


def new_jobs(jobs: Iterable[str | NewJob]) -> list[NewJob]:
    """Return *jobs*, each given as a ``NewJob`` or by its key."""
    return listed(jobs, "jobs", new_job_of)


def new_job_of(job: str | NewJob, payload: Any = None) -> NewJob:
    """Return *job*, given as a ``NewJob`` or by its key and its payload."""
    if isinstance(job, str):
        return NewJob(job, payload)
    if payload is not None:
        raise InvalidRequest("a NewJob has its own payload: pass the key and the payload, or a NewJob")
    return instance(job, NewJob, "a job", "job")


def _part_number(number: int) -> int:
    return whole(number, "a part", 0, PARTS_MAX - 1)
