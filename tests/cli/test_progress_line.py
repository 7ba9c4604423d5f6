"""The rate, the time that is left, and the bar: what is true of them whatever the progress."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fanin import State, Status
from fanin.cli.terminal.bar import DONE, FAILED, LEFT, Look, bar, columns, line
from fanin.cli.terminal.output import clean
from fanin.cli.terminal.rate import Rate, duration_text, rate_text, seconds_left

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


def status(done, total, failed=0, **more):
    return replace(STATUS, acked=done, estimate=done, upper_bound=done, total=total, failed=failed, **more)


def rate_of(*seen):
    rate = Rate()
    for at, done in seen:
        rate.see(at, done)
    return rate.a_second


@pytest.mark.parametrize(
    ("seen", "a_second"),
    [
        ([], None),
        ([(0, 5)], None),
        ([(0, 0), (0.5, 100)], None),
        ([(0, 0), (2, 100)], 50),
        ([(0, 0), (10, 100), (20, 400)], 20),
        ([(0, 100), (10, 50)], 0),
        # After 30 seconds the begin counts no more.
        ([(0, 0), (10, 1000), (20, 1000), (40, 1000), (45, 1000)], 0),
        ([(0, 0), (100, 1000), (110, 1100)], 10),
        ([(float(n), n * n) for n in range(100)], (99 * 99 - 69 * 69) / 30),
    ],
)
def test_the_rate_is_the_mean_of_the_last_30_seconds(seen, a_second):
    assert rate_of(*seen) == a_second


@given(st.lists(st.tuples(st.floats(0.25, 40), st.integers(0, 10**9)), min_size=2, max_size=40))
def test_the_rate_is_that_of_a_window_of_about_30_seconds_and_never_below_zero(steps):
    rate, at, done, seen = Rate(), 0.0, 0, []
    for pause, more in steps:
        at, done = at + pause, done + more
        rate.see(at, done)
        seen.append((at, done))
    start = max((each for each in seen[:-1] if each[0] <= at - 30), default=seen[0])
    expected = (done - start[1]) / (at - start[0]) if at - start[0] >= 1 else None

    assert rate.a_second == expected


@pytest.mark.parametrize(
    ("done", "rate", "is_final", "left"),
    [(0, 10, True, 100), (900, 10, True, 10), (1000, 10, True, 0), (0, 0, True, None), (0, None, True, None),
     (0, 10, False, None)],
)  # fmt: skip
def test_no_time_is_left_to_say_while_the_batch_is_open_or_stands_still(done, rate, is_final, left):
    assert seconds_left(1000, done, rate, is_final) == left


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "1 s"), (22.4, "22 s"), (59.6, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (3661, "1 h 1 min"),
     (3605, "1 h"), (7500, "2 h 5 min"), (90_000, "1 d 1 h"), (86_400 * 400, "400 d")],
)  # fmt: skip
def test_a_duration_has_its_two_largest_units(seconds, text):
    assert duration_text(seconds) == text


def test_a_rate_has_a_decimal_only_where_it_is_small():
    assert [rate_text(rate) for rate in (0, 0.01, 0.34, 9.96, 312.4, 12_345)] == [
        "0/s",
        "0.1/s",
        "0.3/s",
        "10.0/s",
        "312/s",
        "12,345/s",
    ]


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.integers(0, 10**9), st.integers(2, 60), st.booleans())
def test_the_bar_is_empty_only_at_nothing_full_only_at_all_and_shows_every_failure(
    done, total, failed, width, exact
):
    done = min(done, total)
    failed = min(done, failed)
    drawn = bar(status(done, total, failed, exact=exact), width)

    assert len(drawn) == width
    assert drawn == "".join(sorted(drawn, key=[DONE, FAILED, LEFT].index))
    assert (drawn == LEFT * width) == (done == 0)
    assert (LEFT not in drawn) == (done == total and exact)
    assert (FAILED in drawn) == (failed > 0)
    if failed == 0 or (0 < failed < done and width - drawn.count(LEFT) > 1):
        assert (DONE in drawn) == (done > 0)


@pytest.mark.parametrize(
    ("look", "width", "shown"),
    [
        (Look(STATUS, 312.4, 22), 80, "hello ███░░░░░░░ 3,120 of 10,000  22 s left  312/s"),
        (Look(STATUS, 312.4, 22), 43, "hello ███░░░░░░░ 3,120 of 10,000  22 s left"),
        (Look(STATUS, 312.4, 22), 40, "hello █░░░ 3,120 of 10,000  22 s left"),
        (Look(STATUS, 312.4, 22), 33, "hello 3,120 of 10,000  22 s left"),
        (Look(STATUS), 80, "hello ███░░░░░░░ 3,120 of 10,000"),
        (Look(status(5, 10_000, 5), 0.4), 80, "hello ▒░░░░░░░░░ 5 of 10,000  5 failed  0.4/s"),
        (Look(status(0, 0, state=State.OPEN)), 80, "hello ░░░░░░░░░░ 0 of 0  open"),
        (
            Look(status(0, 0, state=State.COMPLETE, result="succeeded")),
            80,
            "hello ██████████ 0 of 0  succeeded",
        ),
        (Look(status(9_999, 10_000, exact=False)), 80, "hello █████████░ ~9,999 of 10,000"),
        (
            Look(status(10_000, 10_000, state=State.COMPLETE, result="succeeded")),
            80,
            "hello ██████████ 10,000 of 10,000  succeeded",
        ),
        (
            Look(status(10_000, 10_000, 3, state=State.COMPLETE, result="completed_with_failures")),
            80,
            "hello █████████▒ 10,000 of 10,000  completed_with_failures  3 failed",
        ),
        (
            Look(status(10**9 - 1, 10**9, user_key=None), 50.0, 1),
            40,
            "999,999,999 of 1,000,000,000  1 s left",
        ),
        (Look(replace(STATUS, user_key=None)), 30, "9b1deb4d-… 3,120 of 10,000"),
        (Look(replace(STATUS, user_key=None)), 80, f"{STATUS.batch_id} ███░░░░░░░ 3,120 of 10,000"),
    ],
)
def test_a_line_leaves_out_what_matters_least(look, width, shown):
    assert line(look, width) == shown


@given(st.integers(0, 10**10), st.integers(0, 10**10), st.text(min_size=1, max_size=60), st.integers(10, 120))
def test_no_line_is_longer_than_the_terminal(done, total, key, width):
    look = Look(status(min(done, total), total, user_key=key), 1e6, 1e6)

    assert columns(line(look, width)) <= width


@pytest.mark.parametrize("key", ["漢字" * 20, "🎉" * 40, "e\u0301" * 30, "of an old row\x1b[2J" * 5])
@pytest.mark.parametrize("width", [20, 40, 79])
def test_a_line_with_a_name_of_any_characters_does_not_wrap(key, width):
    """A line that wraps is not drawn over, but below: each look would scroll the terminal."""
    drawn = line(Look(replace(STATUS, user_key=key), 300, 22), width)

    assert clean(drawn) == drawn
    assert cell_len(drawn) <= width
    assert "3,120 of 10,000" in drawn
