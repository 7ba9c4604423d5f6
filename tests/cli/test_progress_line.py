"""The rate, the time that is left, and the bar: what is true of them whatever the progress."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fanin import State, Status
from fanin.cli.terminal.bar import ACKED, FAILED, OUTSTANDING, Look, bar, line
from fanin.cli.terminal.output import clean
from fanin.cli.terminal.rate import Rate, seconds_left

AT = datetime(2026, 1, 1, tzinfo=UTC)
STATUS = Status(
    batch_id="9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d",
    user_key="hello",
    state=State.CLOSED,
    total=10_000,
    created_at=AT,
    expires_at=AT,
    acked=3_120,
    failed=0,
    estimate=3_120,
    upper_bound=3_120,
    exact=True,
)


def status(acked, total, failed=0, **more):
    return replace(STATUS, acked=acked, estimate=acked, upper_bound=acked, total=total, failed=failed, **more)


@given(st.lists(st.tuples(st.floats(0.25, 40), st.integers(0, 10**9)), min_size=2, max_size=40))
def test_the_rate_is_that_of_a_window_of_about_30_seconds_and_never_below_zero(steps):
    rate, at, acked, seen = Rate(), 0.0, 0, []
    for pause, more in steps:
        at, acked = at + pause, acked + more
        rate.see(at, acked)
        seen.append((at, acked))
    start = max((each for each in seen[:-1] if each[0] <= at - 30), default=seen[0])
    expected = (acked - start[1]) / (at - start[0]) if at - start[0] >= 1 else None

    assert rate.a_second == expected


@pytest.mark.parametrize(
    ("acked", "rate", "is_final", "seconds"),
    [(0, 10, True, 100), (900, 10, True, 10), (1000, 10, True, 0), (0, 0, True, None), (0, None, True, None),
     (0, 10, False, None)],
)  # fmt: skip
def test_no_time_is_left_to_say_while_the_batch_is_open_or_stands_still(acked, rate, is_final, seconds):
    assert seconds_left(1000, acked, rate, is_final) == seconds


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.integers(0, 10**9), st.integers(2, 60), st.booleans())
def test_the_bar_is_empty_only_at_nothing_full_only_at_all_and_shows_every_failure(
    acked, total, failed, width, exact
):
    acked = min(acked, total)
    failed = min(acked, failed)
    drawn = bar(status(acked, total, failed, exact=exact), width)

    assert len(drawn) == width
    assert drawn == "".join(sorted(drawn, key=[ACKED, FAILED, OUTSTANDING].index))
    assert (drawn == OUTSTANDING * width) == (acked == 0)
    assert (OUTSTANDING not in drawn) == (acked == total and exact)
    assert (FAILED in drawn) == (failed > 0)
    if failed == 0 or (0 < failed < acked and width - drawn.count(OUTSTANDING) > 1):
        assert (ACKED in drawn) == (acked > 0)


@pytest.mark.parametrize("key", ["漢字" * 20, "🎉" * 40, "e\u0301" * 30, "of an old row\x1b[2J" * 5])
@pytest.mark.parametrize("width", [20, 40, 79])
def test_a_line_with_a_name_of_any_characters_does_not_wrap(key, width):
    """A line that wraps is not drawn over, but below: each look would scroll the terminal."""
    drawn = line(Look(replace(STATUS, user_key=key), 300, 22), width)

    assert clean(drawn) == drawn
    assert cell_len(drawn) <= width
    assert "3,120 of 10,000" in drawn
