"""docs/operations_reference.md, "Messages in flight": the failures a second that fill a queue."""

from __future__ import annotations

from datetime import timedelta
from math import floor

from fanin.callbacks.model import LONGEST_PAUSE, RETRIED_FOR, pause_seconds
from fanin.client.consuming.adapter import LONGEST_PAUSE_SECONDS, pause_of
from fanin.isolating import TRIES
from infra.paths import ROOT

IN_FLIGHT = 120_000
"""Amazon SQS standard queue quotas."""
HOUR, DAY = 3600, 86_400


def rows() -> list[tuple[str, str]]:
    """The last two cells of each row of the table: for how long, and how many a second."""
    page = (ROOT / "docs" / "operations_reference.md").read_text()
    section = page.partition("\n### Messages in flight\n")[2].partition("\n### ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(row[2].partition(",")[0], row[3]) for row in cells[1:]]


def a_second(seconds: float, digits: int) -> str:
    """So many messages a second, each in flight for *seconds*, are in flight together, rounded down."""
    return f"{floor(IN_FLIGHT / seconds * 10**digits) / 10**digits:g}"


def seconds(duration: object) -> float:
    return float(duration.to_seconds())  # type: ignore[attr-defined]


def test_the_rates_of_the_page_are_those_at_which_a_queue_fills() -> None:
    from fanin_cdk.constructs.queues import RETENTION, SURVIVES
    from fanin_cdk.event_delivery.resuming import TRIED_FOR

    isolated = sum(pause_of(times, LONGEST_PAUSE_SECONDS, 0.0) for times in range(1, TRIES))
    hidden = [
        RETRIED_FOR.total_seconds(),
        seconds(TRIED_FOR),
        seconds(SURVIVES),
        isolated,
        seconds(RETENTION),
    ]

    assert hidden == [24 * HOUR, 24 * HOUR, 6 * HOUR, 900, 14 * DAY]
    assert rows() == [
        ("24 hours", a_second(hidden[0], 1)),
        ("24 hours", a_second(hidden[1], 1)),
        ("6 hours", a_second(hidden[2], 1)),
        ("15 minutes", a_second(hidden[3], 0)),
        ("14 days", a_second(hidden[4], 2)),
    ]


def test_an_event_of_a_webhook_that_is_down_is_in_flight_but_for_its_attempts() -> None:
    """Its pauses follow each other until it is given up on."""
    pauses, at = [], timedelta()
    while at < RETRIED_FOR:
        pauses.append(pause_seconds(len(pauses) + 1, 0.0))
        at += timedelta(seconds=pauses[-1])

    assert max(pauses) == LONGEST_PAUSE
    assert RETRIED_FOR <= at < RETRIED_FOR + timedelta(seconds=LONGEST_PAUSE)
    assert 24 < len(pauses) < 40
