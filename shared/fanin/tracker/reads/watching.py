"""What the holder of a progress token sees: the state of the batch, its progress, and when to ask again.

The cost is bounded whatever the size of the batch and the number of watchers: what a process has read stands
for a second, and a pause grows with the age of the batch. Nothing is written: a batch whose deadline has
passed is live until the sweep ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fanin.errors import NotFound
from fanin.tracker.reads.progress import glimpse
from fanin.tracker.reads.progress_tokens import ProgressToken
from fanin.tracker.rules.acking import is_expired
from fanin.tracker.rules.model import Batch, BatchKey, Progress, State
from fanin.tracker.store import TrackerStore

FRESH_FOR = timedelta(seconds=1)
KEPT_MAX = 1_000
"""Batches whose progress a process keeps."""
PART_OF_AGE = 60
PART_NEAR_THE_END = 1200
PART_OF_TIME_LEFT = 4
PAUSE_MIN, PAUSE_MAX = 1.0, 15.0
"""A pause is a sixtieth of the batch's age, within these seconds. Of a closed batch it is at most a quarter
of the time that the items left take at the mean rate, but at least a 1,200th of the age."""
JITTER = 0.2
"""The share of a pause that chance adds, so that watchers that began together do not ask together."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A *batch* as a token shows it. *retry_after*: seconds until the next look; None once it has ended."""

    batch: Batch
    progress: Progress
    retry_after: float | None


@dataclass(slots=True)
class Watch:
    """Answers looks by tokens from *store*. *chance*: from 0 up to 1."""

    store: TrackerStore
    now: Callable[[], datetime]
    chance: Callable[[], float]
    _known: dict[BatchKey, tuple[datetime, Batch, Progress]] = field(default_factory=dict)

    def look(self, text: str) -> Watched:
        """Return the batch of the token *text*.

        Raises NotFound, always with the same text, for a token that is invalid or has expired, and for a
        batch that is gone; only a valid token reads pages.
        """
        at = self.now()
        token = ProgressToken.parse(text)
        found = None if token is None or token.expires_at <= at else self._live_batch(token, at)
        if found is None:
            raise NotFound("the token is invalid or has expired, or its batch is gone; ask for a new one")
        batch, progress = found
        return Watched(batch, progress, pause_after(batch, progress, at, self.chance()))

    def _live_batch(self, token: ProgressToken, at: datetime) -> tuple[Batch, Progress] | None:
        read_at, batch, progress = self._known.get(token.key, (at, None, None))
        if batch is None or progress is None or not read_at <= at < read_at + FRESH_FOR:
            batch, progress = self.store.get(token.key), None
        if batch is None or not token.is_of(batch) or (not batch.is_alive and is_expired(batch, at)):
            return None
        return batch, self._read(batch, at) if progress is None else progress

    def _read(self, batch: Batch, at: datetime) -> Progress:
        progress = glimpse(self.store, batch)
        if len(self._known) >= KEPT_MAX:
            self._known.clear()
        self._known[batch.key] = (at, batch, progress)
        return progress


def pause_after(batch: Batch, progress: Progress, at: datetime, chance: float) -> float | None:
    """Return the seconds until the next look at *batch*, in tenths; None if it has ended.

    The one rule of all that watch a batch over HTTP: pages with a token, ``fanin watch``, the dashboard.
    """
    if not batch.is_alive:
        return None
    age = (at - batch.created_at).total_seconds()
    pause = age / PART_OF_AGE
    if batch.state is State.CLOSED and progress.estimate:
        remaining = age * (batch.total - progress.estimate) / progress.estimate
        pause = min(pause, max(remaining / PART_OF_TIME_LEFT, age / PART_NEAR_THE_END))
    return round(min(max(pause, PAUSE_MIN), PAUSE_MAX) * (1 + JITTER * chance), 1)
