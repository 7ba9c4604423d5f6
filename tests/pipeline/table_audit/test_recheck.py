"""What a write on its way explains is gone when looked at again; what is wrong is there each time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fanin.tracker import State
from fanin.tracker.rules.page import Page
from pipeline.table_audit import recheck
from pipeline.table_audit.recheck import Located, recheck_findings
from pipeline.table_audit.rules import Finding, Rule
from tests.pipeline.table_audit.test_rules import BROKEN, FULL_LEAF
from tests.pipeline.worlds import World, closed, complete

DOUBTFUL = {name: case for name, case in BROKEN.items() if not case.sure}


def rechecked(world: World, *findings: Finding, meanwhile: Callable[[int], object] = lambda _: None) -> list:
    """Return the results; *meanwhile* is called before each recheck."""
    looks = iter(range(10))
    doubtful = [Located(world.key, finding) for finding in findings]
    return list(recheck_findings(world.store, doubtful, lambda _: meanwhile(next(looks))).values())


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_is_broken_is_still_there(name):
    case, world = DOUBTFUL[name], DOUBTFUL[name].sound()
    case.broken(world)
    (finding,) = (f for f in world.audited() if (f.rule, (f.level, f.page)) == (case.rule, case.place))

    assert rechecked(world, finding) == [True]


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_a_write_has_put_right_is_gone(name):
    case = DOUBTFUL[name]

    assert rechecked(case.sound(), Finding(case.rule, "", *case.place)) == [False]


def test_a_climb_that_is_under_way_at_the_first_look_is_no_finding():
    world = closed()
    world.put(0, 9, FULL_LEAF)
    finding = Finding(Rule.CLIMB_MISSING, "n = 8", 0, 9)

    def climb(number: int) -> None:
        if number == 1:
            world.put(1, 1, Page(0b10, 1))

    assert rechecked(world, finding, meanwhile=climb) == [False]


@pytest.mark.parametrize(("stored", "verdict"), [(True, True), (False, False)])
def test_an_orphan_is_one_while_its_batch_is_not_there(stored, verdict):
    world = closed()
    del world.store.batches[world.key]
    if not stored:
        world.lose(0, 8)

    assert rechecked(world, Finding(Rule.ORPHAN, "", 0, 8)) == [verdict]


def test_a_page_whose_batch_is_there_by_now_is_no_orphan():
    assert rechecked(closed(), Finding(Rule.ORPHAN, "", 0, 8)) == [False]


def test_failures_that_go_on_being_counted_leave_it_in_doubt():
    world = closed()
    get, counted = world.store.get, iter(range(7, 20))

    def changing(key):
        world.change_batch(failed=next(counted))
        return get(key)

    world.store.get = changing

    assert rechecked(world, Finding(Rule.FAILED_COUNT, "")) == [None]


def test_failures_of_more_leaves_than_are_read_stay_in_doubt(monkeypatch):
    world = closed()
    world.change_batch(failed=7)
    for most, verdict in ((19, True), (18, None)):
        monkeypatch.setattr(recheck, "LEAVES", most)

        assert rechecked(world, Finding(Rule.FAILED_COUNT, "")) == [verdict]


def test_each_finding_has_a_verdict_of_its_own():
    world = complete()
    world.change_batch(state=State.CLOSED)
    findings = [Finding(Rule.NOT_COMPLETE, ""), Finding(Rule.NOT_FULL, "", 0, 4)]

    assert rechecked(world, *findings) == [True, False]
