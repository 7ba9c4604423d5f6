"""The schedule: end what is overdue, repair what a crash left, send events that did not arrive."""

from typing import Any

from functions import wiring
from functions.measuring import age, count, measured


@measured
def handler(_event: dict[str, Any], _context: Any) -> None:
    tracker = wiring.tracker()
    done = tracker.sweep()
    count(SweepLooked=done.looked, SweepRepaired=done.completed, SweepAnnouncedAgain=done.announced_again)
    age("OldestOpenBatchSeconds", tracker.longest_open().total_seconds())
