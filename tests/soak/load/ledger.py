"""What the load did, as the referee compares it with what came of it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fanin.client.transports.reports import AckReport

REPEATED = "requests repeated"
WORKER_ENDS = frozenset({"SessionLost", "LostClaim", "StoreUnavailable"})
"""Errors by which a worker may end, as docs/queue.md has them: it is started again."""


@dataclass(slots=True)
class Expected:
    """How a batch has to end: the load sets it before it sends the request that decides it."""

    kind: str
    total: int = 0
    failed: int = 0
    state: str = "COMPLETE"
    failed_items: set[str] | None = None
    """Where the list of failures is compared too."""
    items_with_results: set[str] = field(default_factory=set)
    """The items that were acked with a result: each has exactly one."""
    enough: int = 0
    """The succeeded items that end it before all are done."""

    @property
    def result(self) -> str | None:
        """The result of a complete batch."""
        if self.state != "COMPLETE":
            return None
        if self.enough:
            return "enough"
        return "completed_with_failures" if self.failed else "succeeded"


@dataclass(slots=True)
class Ledger:
    """Shared by all threads of the load."""

    batches: dict[str, Expected] = field(default_factory=dict)
    reported: Counter[str] = field(default_factory=Counter)
    """Completions in answers, by batch."""
    counts: Counter[str] = field(default_factory=Counter)
    """Requests that were answered, and what they had, by the metric that counts them."""
    poison: set[str] = field(default_factory=set)
    """Messages that every consumer fails."""
    tasks: dict[str, str] = field(default_factory=dict)
    """Tasks, and their targets."""
    jobs: Counter[str] = field(default_factory=Counter)
    """Accepted jobs, by key."""
    jobs_of_functions: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    folds: list[str] = field(default_factory=list)
    """Counts of the Spark jobs that are not what they have to be."""
    chaos: Counter[str] = field(default_factory=Counter)
    doubts: Counter[str] = field(default_factory=Counter)
    """By how much a metric may differ, because a request was repeated or a function was killed."""
    _repeats: threading.local = field(default_factory=threading.local)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def opened(self, batch: str, expected: Expected) -> None:
        with self._lock:
            self.batches[batch] = expected
            self.counts["BatchesOpened"] += 1

    def added(self, batch: str, count: int) -> None:
        with self._lock:
            self.batches[batch].total += count
            self.counts["ItemsAdded"] += count

    def acked(self, report: AckReport) -> None:
        with self._lock:
            self.reported.update(completion.batch_id for completion in report.completions)

    def reported_by_close(self, batch: str) -> None:
        with self._lock:
            self.reported[batch] += 1

    def count(self, name: str, amount: int = 1) -> None:
        with self._lock:
            self.counts[name] += amount

    def repeat(self) -> None:
        """Note that this thread sends a request again: the function may have counted it."""
        self._repeats.count = getattr(self._repeats, "count", 0) + 1
        self.happened(REPEATED)

    @contextmanager
    def doubting(self, metric: str, amount: int = 1) -> Iterator[None]:
        """Let *metric* differ by *amount* for each request that is repeated within."""
        before = getattr(self._repeats, "count", 0)
        try:
            yield
        finally:
            self.doubt(metric, amount * (getattr(self._repeats, "count", 0) - before))

    def doubt(self, metric: str, amount: int) -> None:
        with self._lock:
            self.doubts[metric] += amount

    def failed_with(self, where: str, error: BaseException) -> None:
        with self._lock:
            self.errors.append(f"{where}: {type(error).__name__}: {error}"[:300])

    def happened(self, what: str) -> None:
        with self._lock:
            self.chaos[what] += 1

    def worker_ended(self, why: str) -> None:
        """A worker of the queue ended by itself; *why*: the error that it raised."""
        name = why.partition(":")[0].rpartition(".")[2]
        self.happened(f"workers ended by {name}")
        if name not in WORKER_ENDS:
            self.failed_with("worker", RuntimeError(why))

    def accepted_jobs(self, keys: Iterable[str]) -> None:
        with self._lock:
            self.jobs.update(keys)
