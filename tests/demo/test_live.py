from __future__ import annotations

import io

from rich.console import Console

from pipeline.demo.live import BarView, View, view_on
from tests.demo.makers import sample


def on(terminal: bool) -> tuple[Console, io.StringIO]:
    written = io.StringIO()
    return Console(file=written, force_terminal=terminal, width=150), written


def test_a_bar_is_for_terminals_and_lines_are_for_the_rest():
    assert type(view_on(on(terminal=True)[0])) is BarView
    assert type(view_on(on(terminal=False)[0])) is View


def test_a_step_that_goes_on_with_other_numbers_is_told_once():
    console, written = on(terminal=False)
    view = View(console)

    for step in ("deploying 1 of 9", "deploying 2 of 9", "checking", "deploying 3 of 9"):
        view.step(step)

    steps = [line.partition(" s  ")[2] for line in written.getvalue().splitlines()]
    assert steps == ["deploying 1 of 9", "checking", "deploying 3 of 9"]


def test_lines_of_progress_are_five_seconds_apart():
    console, written = on(terminal=False)
    view = View(console)
    samples = []

    for second in range(12):
        samples.append(sample(second, 10 * second))
        view.moved(samples, 110)

    assert [line.partition("acked ")[2].split()[0] for line in written.getvalue().splitlines()] == [
        "0",
        "50",
        "100",
    ]


def test_the_bar_tells_acks_rate_and_time_left():
    console, written = on(terminal=True)

    with BarView(console) as view:
        view.step("sending")
        view.moved([sample(0, 1), sample(10, 5001, faults=3)], 20_001)

    assert "5,001 of 20,001, 500/s, 0:30 left; 1,234 waiting; 3 failed on purpose" in written.getvalue()
