"""What the demo says that it waits for."""

from __future__ import annotations

import io

from rich.console import Console

from examples.catalog.checks.awaiting import FAILED, Awaited, Unanswered
from examples.catalog.functions.worker import RETRY_SECONDS
from examples.catalog.output import progress
from examples.catalog.output.live import View
from examples.catalog.system.batch_api import Call, Request, Ruling
from tests.catalog.makers import sample

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

    said = [line.partition(" s  ")[2] for line in written.getvalue().splitlines()]
    assert [line for line in said if not line.startswith("acked")] == [
        "all sent, 3 items left; waiting for 2 bundles refused, 3 jobs",
        "all sent, 1 item left; waiting for 1 job",
    ]


def test_no_time_is_estimated_of_what_does_not_depend_on_the_rate():
    samples = [sample(0, 0), sample(10, 99, awaited=("1 job",))]

    assert progress.left(samples, 100) == "all sent"


def test_beside_the_bar_the_reasons_stand_as_far_as_they_fit():
    samples = [sample(0, 0), sample(10, 1999, awaited=("2 bundles refused", "a reason " * 20))]

    assert progress.brief(samples, 2048, 46) == "1,999 of 2,048, all sent; 2 bundles refused"
    assert progress.brief(samples, 2048, 30) == "1,999 of 2,048, all sent"
