"""What a worker's program calls, over rows of the table and over jobs as the client shows them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import Generic, Self, TypeVar, overload

from fanin.arguments import Seconds
from fanin.queue.rules.errors import ShutDown
from fanin.queue.rules.taking import checked_wait

J = TypeVar("J")


class TakenJobs(Sequence[J]):
    """The jobs of one take, in the order of the queue."""

    _jobs: Sequence[J]

    @overload
    def __getitem__(self, index: int) -> J: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[J]: ...
    def __getitem__(self, index: int | slice) -> J | Sequence[J]:
        return self._jobs[index]

    def __len__(self) -> int:
        return len(self._jobs)


class WorkersQueue(ABC, Generic[J]):
    """A queue whose jobs are taken by this process."""

    @abstractmethod
    def take(
        self, most: int = 1, wait: Seconds | None = None, parts: Sequence[int] | None = None
    ) -> AbstractContextManager[TakenJobs[J]]:
        """Return a scope of 1 to *most* jobs; of none after a *wait* without any."""

    @abstractmethod
    def close(self) -> None:
        """Take no more jobs, return the claimed ones without counting failures, and end the session."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def stream(self, wait: Seconds | None = None) -> Iterator[J]:
        """Yield one job after the other, and ack each when the next one is requested.

        Leaving the loop early returns the current job to its position and counts no failure; use ``take``
        where an error counts. Ends after *wait* seconds without a job, or when the queue is closed.
        """
        return self._stream(checked_wait(wait))

    def _stream(self, wait: float | None) -> Iterator[J]:
        with suppress(ShutDown):
            while True:
                with self.take(1, wait) as jobs:
                    if not jobs:
                        return
                    yield from jobs
