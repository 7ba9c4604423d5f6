"""A few schedules under faults between the functions and the emulator; ``make faults`` runs hundreds."""

from __future__ import annotations

from fanin.local import LocalRun
from tests.faults.schedules import run as run_schedules
from tests.faults.site import faulty
from tests.http.events import Events

SCHEDULES = 5
SEED = 16


def test_schedules_under_faults_end_as_they_should(run: LocalRun, bus: Events) -> None:
    with faulty(run, bus, SEED) as site:
        result = run_schedules(site, SCHEDULES, threads=SCHEDULES)

    assert (result.violations, result.odd) == ([], [])
    assert result.schedules.total() == SCHEDULES
    assert result.faults.total() > SCHEDULES
