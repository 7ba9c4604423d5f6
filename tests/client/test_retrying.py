"""How long to wait, and for what."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.client.retrying import (
    PATIENCE_SECONDS,
    RETRIED,
    is_worth_it,
    pause_seconds,
    retry_after_seconds,
)

NOW = 1_800_000_000.0


@given(st.integers(0, 2000), st.floats(0, 30), st.floats(0, 1, exclude_max=True))
def test_a_pause_is_at_least_what_was_asked_for_and_bounded(attempt, asked, draw):
    assert asked <= pause_seconds(attempt, asked, draw) <= asked + 6.4


def test_pauses_grow_and_are_jittered():
    assert [pause_seconds(attempt, 0, 0.5) for attempt in range(3)] == [0.05, 0.1, 0.2]
    assert pause_seconds(3, 0, 0) == 0


@given(st.integers(0, 599))
def test_only_weather_is_worth_another_attempt(status):
    assert is_worth_it(status, 0) == (status in {0, 429, 502, 503, 504})
    assert not is_worth_it(status, PATIENCE_SECONDS + 1)


def test_statuses_of_rules_are_never_repeated():
    assert not RETRIED & {400, 401, 403, 404, 409, 413, 415, 422, 500}


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0.0),
        ("0", 0.0),
        (" 7 ", 7.0),
        ("-7", 0.0),
        ("1.5", 0.0),
        ("²", 0.0),
        ("soon", 0.0),
        (format_datetime(datetime.fromtimestamp(NOW + 9, UTC), usegmt=True), 9.0),
        (format_datetime(datetime.fromtimestamp(NOW - 9, UTC), usegmt=True), 0.0),
        (datetime.fromtimestamp(NOW + 9, UTC).strftime("%a, %d %b %Y %H:%M:%S"), 9.0),
        ("Mon, 99 Xxx 2026 99:00:00 GMT", 0.0),
        ("9" * 400, float("inf")),
    ],
)
def test_retry_after_comes_in_seconds_or_as_a_date(header, seconds):
    assert retry_after_seconds(header, NOW) == seconds
