"""What a job prints of its stages and its counts."""

from __future__ import annotations

import pytest
from pyspark import SparkStageInfo

from pipeline.spark import progress
from pipeline.spark.progress import count, event_printer, moving, under_way


def stage(at: int, completed: int, tasks: int) -> SparkStageInfo:
    return SparkStageInfo(at, 0, "collect", tasks, 0, completed, 0)


def test_stages_are_named_so_that_the_counts_of_one_never_follow_those_of_another():
    most: dict[int, int] = {}

    assert under_way([stage(7, 15, 32)], most) == "stage 7: 15 of 32 tasks"
    assert under_way([stage(9, 0, 1), stage(8, 8, 24)], most) == (
        "stage 8: 8 of 24 tasks, stage 9: 0 of 1 task"
    )


def test_a_stage_that_is_tried_again_does_not_count_backwards():
    most: dict[int, int] = {}

    reported = [under_way([stage(7, completed, 32)], most) for completed in (15, 3, 16)]

    assert [text.split()[2] for text in reported] == ["15", "15", "16"]


def test_of_many_stages_some_are_named_and_the_rest_counted():
    reported = under_way([stage(at, 0, 2) for at in range(5)], {})

    assert reported.endswith("stage 2: 0 of 2 tasks, 2 more")


def test_what_watching_reports_has_a_sentence_in_every_job(capsys):
    event_printer({}, as_json=False)("working", {"stages": "stage 7: 15 of 32 tasks", "seconds": 10.2})

    assert capsys.readouterr().out == "  stage 7: 15 of 32 tasks; 10 s\n"


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


def test_one_is_counted_as_one():
    assert (count(1, "call"), count(1200, "call"), count(2, "batch", "batches")) == (
        "1 call",
        "1,200 calls",
        "2 batches",
    )
