"""Every placement of a disturbance in the small scenarios of the tracker; ``make proof`` places two."""

from __future__ import annotations

import pytest

from tests.simulating.exploring import first_broken
from tests.simulation.exhaustive import PLAYS

LONG = {
    *("one page", "three levels in ranges", "an item that failed"),
    *("two children of an item", "an orphan", "a sweeper beside"),
}
"""Scenarios whose requests others make, too, and one that takes 5 s: the random schedules sweep as well."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.proof) if name in LONG else name for name in PLAYS]
)
def test_no_single_disturbance_breaks_a_promise(name):
    assert first_broken(PLAYS[name], depth=1) is None
