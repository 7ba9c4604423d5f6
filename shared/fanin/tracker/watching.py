"""Find the thresholds that a live batch has reached; its pages are read only where a count is needed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from fanin.tracker import thresholds
from fanin.tracker.model import Batch, Progress, State
from fanin.tracker.progress import progress
from fanin.tracker.store import TrackerStore
from fanin.tracker.thresholds import Reached, Threshold


def reached_by(store: TrackerStore, batch: Batch, at: datetime) -> list[Reached]:
    """Return the thresholds of a live *batch* that are reached and not reported, each once."""
    percentages = thresholds.percentages_left(batch) if batch.state is State.CLOSED else ()
    cheap = list(_by_row(batch, at))
    if not cheap and not percentages:
        return []
    count = progress(store, batch)
    found = [*cheap, *(each for each in percentages if thresholds.passed(batch, count.estimate, each))]
    return [_reached(batch, each, at, count) for each in found]


def _by_row(batch: Batch, at: datetime) -> Iterator[Threshold]:
    """Yield the thresholds that the batch's row shows."""
    if thresholds.has_failed(batch):
        yield Threshold.FIRST_FAILURE
    if thresholds.stalled(batch, at):
        yield Threshold.STUCK


def _reached(batch: Batch, threshold: Threshold, at: datetime, count: Progress) -> Reached:
    stall = batch.stalls + 1 if threshold is Threshold.STUCK else 0
    return Reached(threshold, at, count, batch.total, stall)
