"""Judges the reports of thresholds: none before its condition held, and none left out by a sweep."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from fanin.tracker import Batch, BatchKey, State
from fanin.tracker.rules.options import PERCENT, Threshold, mark_of
from fanin.tracker.rules.thresholds import ACKS_COUNT_AFTER, CHECK_AGAIN_AFTER, Reached
from tests.simulating.violation import require

if TYPE_CHECKING:
    from tests.simulation_seams.world import World

SWEEP_MAX = timedelta(minutes=1)
"""No sweep of these runs takes longer, or asks for a shorter time without acks."""
SLACK = timedelta(seconds=10)
"""For how long a condition may have held before a sweep that need not see it yet, beside a minute."""


class Thresholds:
    """What is true of the thresholds of each batch. *since*: from when on each condition holds.

    *acked_at*: the stored times of acks, each of which is stored some time after its ack; *stored_at*: when
    the last one was. *apart*: how far two clocks are apart, at most.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.apart = 2 * world.scenario.skew
        self.since: dict[tuple[BatchKey, Threshold], datetime] = {}
        self.acked_at: dict[BatchKey, list[datetime]] = {}
        self.stored_at: dict[BatchKey, datetime] = {}

    def changed(self, key: BatchKey) -> None:
        """Note which conditions a write to a batch has made true."""
        batch = self.world.memory.batches[key]
        for threshold in (Threshold.FIRST_FAILURE, *PERCENT):
            if self._holds(batch, threshold, self.world.now()):
                self.since.setdefault((key, threshold), self.world.now())

    def recorded(self, key: BatchKey, at: datetime) -> None:
        """Note that the time of an ack is stored."""
        self.acked_at.setdefault(key, []).append(at)
        self.stored_at[key] = self.world.now()

    def judge(self, batch: Batch, reached: Reached) -> None:
        """K: a threshold is reported of a live batch once its condition holds, while items are missing."""
        closed = batch.closed_at is not None and batch.closed_at <= reached.at
        missing = reached.progress.acked < batch.total or not closed
        require(missing, "thresholds", lambda: f"{reached} is reported, and {batch} is only not completed")
        holds = self._holds(batch, reached.threshold, reached.at)
        require(holds and batch.is_alive, "thresholds", lambda: f"{reached} is reported of {batch}")

    def owed(self) -> Iterator[tuple[Batch, Threshold]]:
        """Yield the thresholds that a sweep which begins now has to report, each with its batch as it is."""
        before = self.world.now() - CHECK_AGAIN_AFTER - SLACK - self.apart
        for (key, threshold), since in self.since.items():
            batch = self.world.memory.batches[key]
            if batch.is_alive and threshold in batch.notify_at and since <= before:
                self._check_planned(batch, threshold)
                if self._is_due(batch):
                    yield batch, threshold
        for batch in self.world.memory.batches.values():
            if batch.is_alive and batch.stuck_after is not None:
                quiet = batch.stuck_after + batch.stuck_after / ACKS_COUNT_AFTER
                is_stuck = self._quiet_since(batch) + quiet <= before and self._is_due(batch)
                if is_stuck and not self._is_reported(batch, Threshold.STUCK):
                    yield batch, Threshold.STUCK

    def check(self, owed: list[tuple[Batch, Threshold]]) -> None:
        """K: after a sweep that met no error, what was owed before it is reported, or the batch has ended.

        A stall is for the next sweep where the batch was closed meanwhile: its report was of an open one.
        """
        for before, threshold in owed:
            batch = self.world.memory.batches[before.key]
            if threshold is Threshold.STUCK and batch.state is not before.state:
                self._check_planned(batch, threshold)
                continue
            require(
                not batch.is_alive or self._is_reported(batch, threshold),
                "thresholds",
                lambda batch=batch, threshold=threshold: f"{threshold} of {batch} was not reported",
            )

    def _check_planned(self, batch: Batch, threshold: Threshold) -> None:
        """K: a threshold that is reached and not reported is looked for within a minute."""
        planned = (
            batch.next_check_at is not None
            and batch.next_check_at <= self.world.now() + CHECK_AGAIN_AFTER + self.apart
        )
        known = not batch.is_alive or self._is_reported(batch, threshold)
        require(known or planned, "thresholds", lambda: f"{threshold} of {batch} is not looked for")

    def _is_due(self, batch: Batch) -> bool:
        return batch.next_check_at is not None and batch.next_check_at <= self.world.now() - self.apart

    def _is_reported(self, batch: Batch, threshold: Threshold) -> bool:
        if threshold is not Threshold.STUCK:
            return mark_of(threshold) in batch.reported
        if self.stored_at.get(batch.key, batch.created_at) > self.world.now() - SWEEP_MAX - self.apart:
            return True  # an ack came, or was stored, meanwhile
        stalls = [r.at for (key, _), r in self.world.memory.reports.items() if key == batch.key and r.stall]
        return any(at >= self._quiet_since(batch) - self.apart for at in stalls)

    def _holds(self, batch: Batch, threshold: Threshold, at: datetime) -> bool:
        referee = self.world.referee
        if threshold is Threshold.STUCK:
            since = max((each for each in self._acks(batch) if each < at), default=batch.created_at)
            return batch.stuck_after is not None and at - since >= batch.stuck_after - self.apart
        if threshold is Threshold.FIRST_FAILURE:
            return bool(referee.has_failed[batch.key])
        share = 100 * referee.landed[batch.key].bit_count() >= batch.total * PERCENT[threshold]
        return batch.state is State.CLOSED and share

    def _quiet_since(self, batch: Batch) -> datetime:
        return max(self._acks(batch))

    def _acks(self, batch: Batch) -> list[datetime]:
        return [batch.created_at, *self.acked_at.get(batch.key, ())]
