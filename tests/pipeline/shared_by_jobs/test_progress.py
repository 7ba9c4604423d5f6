"""What a job prints of its stages and its counts."""

from __future__ import annotations

import pytest

from pipeline.shared_by_jobs import progress
from pipeline.shared_by_jobs.progress import Stage, moving, under_way


def test_a_stage_that_is_tried_again_does_not_count_backwards():
    most: dict[int, int] = {}

    reported = [under_way([Stage(7, 32, completed)], most) for completed in (15, 3, 16)]

    assert [text.split()[2] for text in reported] == ["15", "15", "16"]


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 0.0

    monkeypatch.setattr(progress.time, "monotonic", lambda: Clock.now)
    return Clock


def test_what_stands_still_is_reported_again_only_after_a_while(clock):
    reported: list[tuple[float, int]] = []
    emit = moving(lambda _event, facts: reported.append((clock.now, facts["sent"])), "sent")

    for clock.now, sent in enumerate([0, 0, 0, 0, 0, 0, 0, 250, 250, 500]):
        emit("progress", {"sent": sent})

    assert reported == [(5, 0), (7, 250), (9, 500)]
