"""Rates and times left, as the demo shows them."""

from __future__ import annotations

import pytest

from examples.catalog.output import progress
from tests.catalog.makers import sample


def test_the_rate_is_that_of_the_last_seconds_not_of_the_whole_run():
    samples = [sample(0, 0), sample(100, 1000), sample(110, 1500)]

    assert progress.rate(samples, window=15) == 50
    for too_few in ([], [sample(1, 10)], [sample(1, 10), sample(1, 10)]):
        assert progress.rate(too_few) == 0


def test_the_time_left_is_what_the_other_items_take_at_the_present_rate():
    assert progress.seconds_left([sample(0, 100), sample(10, 300)], total=1300) == 50
    assert progress.seconds_left([sample(0, 100), sample(10, 100)], total=1300) is None
    assert progress.left([sample(0, 0)], total=10) == "estimating the time left"


def test_the_first_acks_of_cold_workers_say_nothing_of_the_time_left():
    samples = [sample(0, 0), sample(60, 1), sample(64, 5)]

    assert progress.seconds_left(samples, total=1300) is None
    assert progress.seconds_left([*samples, sample(65, 151)], total=1051) == 30


@pytest.mark.parametrize(
    ("total", "reported"),
    [(100, "0:00"), (694, "0:59"), (696, "1:00"), (750, "1:05"), (36_100, "60:00")],
)
def test_the_time_left_is_reported_in_minutes_and_seconds(total, reported):
    assert progress.left([sample(0, 1), sample(9.9, 100)], total) == f"{reported} left"


def test_a_line_shows_the_whole_state():
    samples = [sample(0, 1), sample(10, 5001, faults=30, repeats=12, bundled=80, calls=3)]

    assert progress.line(samples, 20_001) == (
        "acked 5,001 of 20,001 (25%), 500/s, 0:30 left; 1,234 waiting, 40 in hand; "
        "80 in 3 calls; 30 failed on purpose, 12 acked again"
    )
