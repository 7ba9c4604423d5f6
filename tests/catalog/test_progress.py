"""What the demo shows while it runs: rates, times left, and what it waits for; as a bar and as lines."""

from __future__ import annotations

import io

from rich.console import Console

from examples.catalog.checks.awaiting import Unanswered
from examples.catalog.output import progress
from examples.catalog.output.live import BarView, View, view_on
from examples.catalog.system.batch_api import Call, Request, Ruling
from tests.catalog.makers import sample


def test_the_rate_is_that_of_the_last_seconds_not_of_the_whole_run():
    samples = [sample(0, 0), sample(100, 1000), sample(110, 1500)]

    assert progress.rate(samples, window=15) == 50
    for too_few in ([], [sample(1, 10)], [sample(1, 10), sample(1, 10)]):
        assert progress.rate(too_few) == 0


def test_the_time_left_is_what_the_other_items_take_at_the_present_rate():
    assert progress.seconds_left([sample(0, 100), sample(10, 300)], total=1300) == 50
    assert progress.seconds_left([sample(0, 100), sample(10, 100)], total=1300) is None
    assert progress.time_left([sample(0, 0)], total=10) == "estimating the time left"


REFUSED, LOST, SUCCESS, AGAIN = Ruling(429), Ruling(200, lost=True), Ruling(200), Ruling(200, again=True)


def calls(**rulings: list[Ruling]) -> list[Call]:
    """The calls of each bundle of five tasks, in order."""
    tasks = {f"task-{number}": {} for number in range(5)}
    return [
        Call(Request(name, "games", 1, tasks), ruling) for name, ruled in rulings.items() for ruling in ruled
    ]


def test_a_bundle_is_unanswered_until_a_call_of_it_is_answered():
    asked = calls(
        a=[LOST], b=[LOST, AGAIN], c=[REFUSED], d=[REFUSED, SUCCESS], e=[LOST, REFUSED], f=[SUCCESS]
    )

    assert Unanswered.of(asked) == Unanswered(lost=1, refused=2, tasks=5)


def test_what_is_awaited_is_printed_at_once_and_later_if_it_is_of_another_kind():
    written = io.StringIO()
    view = View(Console(file=written, width=150))
    samples = []
    for at, acked, awaited in (
        (0, 90, ()),
        (1, 97, ("2 bundles refused", "3 jobs")),
        (2, 97, ("3 jobs",)),
        (4, 98, ("1 bundle refused", "1 job")),
        (7, 99, ("1 job",)),
        (8, 100, ()),
    ):
        samples.append(sample(at, acked, awaited=awaited))
        view.moved(samples, 100)

    lines = [line.partition(" s  ")[2] for line in written.getvalue().splitlines()]
    assert [line for line in lines if not line.startswith("acked")] == [
        "all sent, 3 items left; waiting for 2 bundles refused, 3 jobs",
        "all sent, 1 item left; waiting for 1 job",
    ]


def on(terminal: bool, width: int = 150) -> tuple[Console, io.StringIO]:
    written = io.StringIO()
    return Console(file=written, force_terminal=terminal, width=width), written


def test_a_bar_is_for_terminals_and_lines_are_for_the_rest():
    assert type(view_on(on(terminal=True)[0])) is BarView
    assert type(view_on(on(terminal=False)[0])) is View


def test_lines_of_progress_are_five_seconds_apart():
    console, written = on(terminal=False)
    view = View(console)
    samples = []

    for second in range(12):
        samples.append(sample(second, 10 * second))
        view.moved(samples, 110)

    acked = [line.partition("acked ")[2].split()[0] for line in written.getvalue().splitlines()]
    assert acked == ["0", "50", "100"]
