"""The bar of the demo on a terminal, and its lines elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from examples.catalog.output.live import BarView, View, view_on
from tests.catalog.makers import sample


def on(terminal: bool, width: int = 150) -> tuple[Console, io.StringIO]:
    written = io.StringIO()
    return Console(file=written, force_terminal=terminal, width=width), written


def drawn(view: BarView) -> str:
    """The line of the bar, as it stands on a screen."""
    console, written = on(terminal=False, width=view.console.width)
    console.print(view._bar, end="")
    return written.getvalue().rstrip()


def test_a_bar_is_for_terminals_and_lines_are_for_the_rest():
    assert type(view_on(on(terminal=True)[0])) is BarView
    assert type(view_on(on(terminal=False)[0])) is View


def test_a_step_that_goes_on_with_other_numbers_is_reported_once():
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

    acked = [line.partition("acked ")[2].split()[0] for line in written.getvalue().splitlines()]
    assert acked == ["0", "50", "100"]


@pytest.mark.parametrize(
    ("width", "reported"),
    [
        (60, "2,747 of 3,000, 112/s"),
        (80, "2,747 of 3,000, 112/s, 0:02 left; 1,234 waiting"),
        (100, "2,747 of 3,000, 112/s, 0:02 left; 1,234 waiting; 499 in 1 call"),
        (120, "2,747 of 3,000, 112/s, 0:02 left; 1,234 waiting; 499 in 1 call; 114 failed on purpose"),
        (140, "0:02 left; 1,234 waiting; 499 in 1 call; 114 failed on purpose, 9 acked again"),
    ],
)
def test_the_bar_stays_a_bar_and_what_matters_least_goes_where_the_terminal_is_narrow(width, reported):
    view = BarView(on(terminal=True, width=width)[0])
    samples = [sample(0, 1627), sample(10, 2747, bundled=499, calls=1, faults=114, repeats=9)]

    view.step("sending")
    view.moved(samples, 3000)
    line = drawn(view)

    assert line[2:8] == "acked "
    assert line[8:32].rstrip() == "\u2501" * 21 + "\u2578"
    assert line[33:].endswith(reported)
    assert len(line) <= width


def test_a_long_step_leaves_the_bar_its_room():
    view = BarView(on(terminal=True, width=80)[0])

    view.step("starting the emulator, which takes a while where its image is not there yet; please wait")

    assert len(drawn(view)) <= 80
    assert "where i\u2026 \u2501" in drawn(view)
    assert drawn(view).endswith("\u2501" * 24)
