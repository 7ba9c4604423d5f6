"""A few schedules under faults between the functions and the emulator; ``make faults`` runs hundreds."""

from __future__ import annotations

import pytest

from fanin.local import LocalRun
from lab.local.races import Api
from tests.http.events import Events
from tests.soak.schedules.flows import Expected
from tests.soak.schedules.referee import Referee
from tests.soak.schedules.running import run as run_schedules
from tests.soak.wire.site import faulty

SCHEDULES = 5
SEED = 16


@pytest.mark.proof
def test_schedules_under_faults_end_as_they_should(run: LocalRun, api: Api, bus: Events) -> None:
    with faulty(run, bus, SEED) as site:
        result = run_schedules(site, SCHEDULES, threads=SCHEDULES)
        untrue = Referee(site)
        batch, items = api.opened(1)
        api.close(batch)
        api.ack(*items)
        untrue.judge([Expected("untrue", 0, batch, [*items, "one more"])])

    assert (result.violations, result.odd) == ([], [])
    assert [violation.split(": ")[1] for violation in untrue.violations][:1] == [
        "COMPLETE with 1 items, not 2"
    ]
    assert result.schedules.total() == SCHEDULES
    assert result.faults.total() > SCHEDULES
