"""A key that comes again when its batch is over, and all the batches that so stood for one item."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from fanin.tracker import ItemId, OpenBatch, Retention, State, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.lifecycle import transition
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import PageMasks
from tests.simulating.violation import Violation
from tests.simulation.choices import RandomChoices
from tests.simulation.ledger import Asked
from tests.simulation.referee import Referee
from tests.simulation.scenario import AddScript, BatchScript, Scenario
from tests.simulation.simulation import play
from tests.simulation.world import NOW

HOUR = timedelta(hours=1)
SCHEDULES = 150
CHILD = BatchScript(
    "child", (AddScript("child-add", 1),), ("child-closer",), "child-key", 2, retention=Retention(HOUR, HOUR)
)
OTHER = replace(CHILD, name="other", open_key="other-key")
PARENT = BatchScript("top", (AddScript("add", 2, children=(CHILD, OTHER)),), (), "key")
REOPENED = Scenario(
    (2,), (PARENT,), room=8, plain=False, tick=HOUR / 2, tick_rate=0.2, sweepers=2, readers=1, reopened=4
)


def test_a_child_opened_again_under_its_key_breaks_no_promise():
    """Each of the batches that stood for an item, one after the other, tells the parent of its end."""
    outcomes = [play(REOPENED, Random(n), RandomChoices(Random(n))) for n in range(SCHEDULES)]

    assert [outcome.violation for outcome in outcomes if outcome.violation] == []
    assert sum(outcome.events["keys of a second batch"] for outcome in outcomes) > SCHEDULES / 3


@pytest.fixture
def referee():
    return Referee(MemoryStore(), lambda: NOW)


@pytest.fixture
def children(referee):
    """Two batches that stand for the second of two items of a third one."""
    tracker = Tracker(referee.memory, page_bits=4, now=lambda: NOW)
    parent = tracker.open("t", OpenBatch())
    item = ItemId(parent.batch_id, tracker.add("t", parent.batch_id, 2).groups[0].id, 1)
    wish = OpenBatch(parent_item_id=str(item))
    made = [replace(tracker.open("t", wish), batch_id=batch_id) for batch_id in ("0a", "0b")]
    return parent, [referee.apply("create", (child,)) for child in made]


def heard(referee, parent, masks):
    """Whether a request of one who has no ack in hand is let pass; I6 is what refuses it."""
    try:
        referee.hears(Asked(), "add_bits", (PageKey(parent.key, 0, 0), masks, NOW))
    except Violation as found:
        return found.invariant != "I6"
    return True


@pytest.mark.parametrize("first", [0, 1])
def test_the_last_child_of_an_item_to_end_may_say_so_and_no_other_word_is_believed(referee, children, first):
    parent, opened = children
    for child in (opened[first], opened[1 - first]):
        assert not heard(referee, parent, PageMasks(failure=0b10))
        referee.apply("transition", (child.key, transition(child, State.CANCELLED, NOW)))

    assert heard(referee, parent, PageMasks(failure=0b10))
    assert not heard(referee, parent, PageMasks(failure=0b01))
    assert not heard(referee, parent, PageMasks(failure=0b11))
    assert not heard(referee, parent, PageMasks(0b10))
