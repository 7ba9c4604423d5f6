from __future__ import annotations

import pytest

from pipeline.demo import progress
from tests.demo.makers import sample


def test_the_rate_is_that_of_the_last_seconds_not_of_the_whole_run():
    samples = [sample(0, 0), sample(100, 1000), sample(110, 1500)]

    assert progress.rate(samples, window=15) == 50


@pytest.mark.parametrize("samples", [[], [sample(1, 10)], [sample(1, 10), sample(1, 10)]])
def test_without_two_moments_there_is_no_rate(samples):
    assert progress.rate(samples) == 0


def test_the_time_left_is_what_the_rest_takes_at_the_present_rate():
    assert progress.seconds_left([sample(0, 100), sample(10, 300)], total=1300) == 50


def test_nobody_knows_the_time_left_while_nothing_moves():
    assert progress.seconds_left([sample(0, 100), sample(10, 100)], total=1300) is None


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0:00"), (59.4, "0:59"), (59.6, "1:00"), (65, "1:05"), (3600, "60:00"), (None, "-:--")],
)
def test_a_duration_is_minutes_and_seconds(seconds, told):
    assert progress.duration(seconds) == told


def test_a_line_tells_the_whole_state():
    samples = [sample(0, 0), sample(10, 5000, faults=30, repeats=12)]

    assert progress.line(samples, 20_000) == (
        "acked 5,000 of 20,000 (25%), 500/s, 0:30 left; 1,234 waiting, 40 in hand; "
        "30 failed on purpose, 12 acked again"
    )
