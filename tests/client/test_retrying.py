"""How long to wait, and for what."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.client.transports.retrying import is_worth_it, pause_seconds, retry_after_seconds

NOW = 1_800_000_000.0


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
        ("inf", 0.0),
        ("NaN", 0.0),
        ("-inf", 0.0),
        ("1e400", 0.0),
        ("Mon, 01 Jan 2026 00:00:00 +99999999999999999999", 0.0),
        ("Mon, 01 Jan 99999999999999 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0.0),
    ],
)
def test_retry_after_comes_in_seconds_or_as_a_date(header, seconds):
    assert retry_after_seconds(header, NOW) == seconds


DATES = st.from_regex(
    r"(Mon, )?\d{1,3} (Jan|Feb|X) \d{1,25} \d{1,4}:\d{1,4}(:\d{1,20})? ([+-]\d{1,30}|GMT|)", fullmatch=True
)


@given(st.one_of(st.text(), DATES, st.integers().map(str), st.floats().map(str)))
def test_no_header_is_an_error_and_none_asks_for_less_than_nothing(header):
    asked = retry_after_seconds(header, NOW)

    assert asked >= 0
    assert pause_seconds(0, asked, 0.5) >= 0 or not is_worth_it(503, asked)
