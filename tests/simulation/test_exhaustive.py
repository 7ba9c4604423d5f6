"""Every placement of a disturbance in the small scenarios of the tracker; of two, in the smallest."""

from __future__ import annotations

import pytest

from tests.simulating.exploring import explore, first_broken
from tests.simulation.exhaustive import PLAYS


@pytest.mark.parametrize("name", PLAYS)
def test_no_single_disturbance_breaks_a_promise(name):
    assert first_broken(PLAYS[name], depth=1) is None


def test_no_two_disturbances_break_a_promise():
    found = list(explore(PLAYS["nothing to do"], depth=2))

    assert len(found) > 500
    assert [one for one in found if one[1].violation] == []
