"""A key that comes again when its batch is over, and all the batches that so stood for one item."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random

from fanin.tracker import Retention
from tests.simulation.choices import RandomChoices
from tests.simulation.scenario import AddScript, BatchScript, Scenario
from tests.simulation.simulation import play

HOUR = timedelta(hours=1)
SCHEDULES = 20
CHILD = BatchScript(
    "child", (AddScript("child-add", 1),), ("child-closer",), "child-key", 2, retention=Retention(HOUR, HOUR)
)
OTHER = replace(CHILD, name="other", open_key="other-key")
PARENT = BatchScript("top", (AddScript("add", 2, children=(CHILD, OTHER)),), (), "key")
REOPENED = Scenario(
    (2,), (PARENT,), room=8, is_basic=False, tick=HOUR / 2, tick_rate=0.2, sweepers=2, readers=1, reopened=4
)


def test_a_child_opened_again_under_its_key_breaks_no_promise():
    """Each of the batches that stood for an item, one after the other, notifies the parent of its end."""
    outcomes = [play(REOPENED, Random(n), RandomChoices(Random(n))) for n in range(SCHEDULES)]

    assert [outcome.violation for outcome in outcomes if outcome.violation] == []
    assert sum(outcome.events["keys of a second batch"] for outcome in outcomes) > SCHEDULES / 3
