"""The schedule's handler, and what it measures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from fanin.tracker import OpenBatch, State, Tracker
from fanin.tracker.memory import MemoryStore
from functions import sweep
from functions.wiring import tracking
from tests.functions.deliveries import metrics_in

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def times() -> list[datetime]:
    """The time is the last of these."""
    return [START]


@pytest.fixture
def tracker(environment: pytest.MonkeyPatch, memory: MemoryStore, times: list[datetime]) -> Tracker:
    tracker = Tracker(memory, page_bits=8, now=lambda: times[-1])
    environment.setattr(tracking, "tracker", lambda: tracker)
    return tracker


def swept(capsys: pytest.CaptureFixture[str], left_ms: int = 300_000) -> dict[str, list[float]]:
    capsys.readouterr()
    sweep.handler({}, SimpleNamespace(get_remaining_time_in_millis=lambda: left_ms))
    return metrics_in(capsys.readouterr().out)


def test_what_is_overdue_ends_and_is_counted(
    tracker: Tracker, times: list[datetime], capsys: pytest.CaptureFixture[str]
) -> None:
    late = tracker.open("t", OpenBatch(deadline=timedelta(seconds=5)))
    tracker.open("t", OpenBatch())
    times.append(START + timedelta(seconds=5))
    line = swept(capsys)

    assert tracker.get("t", late.batch_id).state is State.TIMED_OUT
    assert (line["SweepLooked"], line["SweepRepaired"], line["SweepAnnouncedAgain"]) == ([1], [], [])


def test_a_sweep_whose_time_is_short_begins_no_batch_and_still_measures(
    tracker: Tracker, times: list[datetime], capsys: pytest.CaptureFixture[str]
) -> None:
    late = tracker.open("t", OpenBatch(deadline=timedelta(seconds=5)))
    times.append(START + timedelta(seconds=7))
    line = swept(capsys, left_ms=240_000)

    assert (line["SweepLooked"], line["OldestOpenBatchSeconds"]) == ([], [7.0])
    assert tracker.store.get(late.key) == late
    assert swept(capsys, left_ms=240_001)["SweepLooked"] == [1]


def test_a_batch_that_cannot_be_swept_is_counted(
    tracker: Tracker,
    times: list[datetime],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tracker.open("t", OpenBatch(deadline=timedelta(seconds=5)))
    times.append(START + timedelta(seconds=7))
    monkeypatch.setattr(tracker.store, "transition", None)

    assert swept(capsys)["SweepFailed"] == [1]


def test_the_age_of_the_oldest_live_batch_is_measured(
    tracker: Tracker, times: list[datetime], capsys: pytest.CaptureFixture[str]
) -> None:
    for minutes in (0, 1, 2):
        times.append(START + timedelta(minutes=minutes))
        oldest = tracker.open("t", OpenBatch())
        if minutes == 0:
            tracker.cancel("t", oldest.batch_id)
    times.append(START + timedelta(minutes=3))

    assert swept(capsys)["OldestOpenBatchSeconds"] == [120.0]


def test_without_batches_no_metric_is_emitted_that_would_be_billed(
    tracker: Tracker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert swept(capsys) == {}


def test_an_event_that_never_arrived_is_sent_again(
    tracker: Tracker, memory: MemoryStore, times: list[datetime], capsys: pytest.CaptureFixture[str]
) -> None:
    batch = tracker.open("t", OpenBatch())
    tracker.cancel("t", batch.batch_id)
    times.append(START + timedelta(minutes=20))

    assert swept(capsys)["SweepAnnouncedAgain"] == [1]
    assert {key for key, _ in memory.notices} == {batch.key}
