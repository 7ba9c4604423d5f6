"""What the demo shows while it runs: rates, times left, and what it waits for; as a bar and as lines."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from examples.catalog.checks.awaiting import FAILED, Awaited, Unanswered
from examples.catalog.functions.worker import RETRY_SECONDS
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


def test_the_first_acks_of_cold_workers_say_nothing_of_the_time_left():
    samples = [sample(0, 0), sample(60, 1), sample(64, 5)]

    assert progress.seconds_left(samples, total=1300) is None
    assert progress.seconds_left([*samples, sample(65, 151)], total=1051) == 30


@pytest.mark.parametrize(
    ("total", "reported"),
    [(100, "0:00"), (694, "0:59"), (696, "1:00"), (750, "1:05"), (36_100, "60:00")],
)
def test_the_time_left_is_reported_in_minutes_and_seconds(total, reported):
    assert progress.time_left([sample(0, 1), sample(9.9, 100)], total) == f"{reported} left"


def test_a_line_shows_the_whole_state():
    samples = [sample(0, 1), sample(10, 5001, faults=30, repeats=12, bundled=80, calls=3)]

    assert progress.line(samples, 20_001) == (
        "acked 5,001 of 20,001 (25%), 500/s, 0:30 left; 1,234 waiting, 40 in hand; "
        "80 in 3 calls; 30 failed on purpose, 12 acked again"
    )


NOTHING = Awaited(waiting=0, in_hand=0, tasks=0, bundles=Unanswered(), jobs=0)
REFUSED, LOST, DONE, AGAIN = Ruling(429), Ruling(200, lost=True), Ruling(200), Ruling(200, again=True)


def calls(**rulings: list[Ruling]) -> list[Call]:
    """The calls of each bundle of five tasks, in order."""
    tasks = {f"task-{number}": {} for number in range(5)}
    return [
        Call(Request(name, "games", 1, tasks), ruling) for name, ruled in rulings.items() for ruling in ruled
    ]


def test_a_bundle_is_unanswered_until_a_call_of_it_is_answered():
    asked = calls(a=[LOST], b=[LOST, AGAIN], c=[REFUSED], d=[REFUSED, DONE], e=[LOST, REFUSED], f=[DONE])

    assert Unanswered.of(asked) == Unanswered(lost=1, refused=2, tasks=5)


def test_each_kind_that_is_outstanding_is_named_with_its_number_and_what_it_waits_for():
    awaited = Awaited(waiting=1200, in_hand=9, tasks=41, bundles=Unanswered(1, 2, 5), jobs=3)

    assert awaited.reasons() == (
        "1,200 messages in the queue",
        "9 messages at work, or redelivered 1 s after they failed on purpose",
        "1 bundle called again 1 to 2 s after a response that was lost on purpose",
        "2 bundles called again 1 s after a refusal (429)",
        "36 tasks in bundles that fill for up to 2 s, then 3 calls a second for each section",
        "3 jobs of the work queue",
    )
    assert f"redelivered {RETRY_SECONDS} s after" in FAILED


def test_of_what_is_done_nothing_is_said():
    assert NOTHING.reasons() == ()


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


def test_no_time_is_estimated_of_what_does_not_depend_on_the_rate():
    samples = [sample(0, 0), sample(10, 99, awaited=("1 job",))]

    assert progress.time_left(samples, 100) == "all sent"


def test_beside_the_bar_the_reasons_stand_as_far_as_they_fit():
    samples = [sample(0, 0), sample(10, 1999, awaited=("2 bundles refused", "a reason " * 20))]

    assert progress.brief(samples, 2048, 46) == "1,999 of 2,048, all sent; 2 bundles refused"
    assert progress.brief(samples, 2048, 30) == "1,999 of 2,048, all sent"


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
