"""Each rule of the audit is broken once, in a store that production code has filled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from fanin.tracker import State
from fanin.tracker.rules.page import Page
from pipeline.table_audit.rules import Rule, Stored, audit_batch
from pipeline.table_frames.rows import facts_of, may_be_gone
from tests.pipeline.worlds import (
    PAGE_BITS,
    SOUND,
    World,
    cancelled,
    closed,
    complete,
    complete_with_failures,
    empty,
    ended_by_failures,
    ended_by_successes,
    estimated,
    estimated_complete,
    partly_acked,
)


@pytest.mark.parametrize("world", SOUND, ids=lambda world: world.__name__)
def test_nothing_is_wrong_with_what_production_code_wrote(world):
    assert world().audited() == []


@dataclass(frozen=True)
class Case:
    """What is done to a sound batch, and what is to be found then."""

    sound: Callable[[], World]
    broken: Callable[[World], object]
    rule: Rule
    place: tuple[int, int] | tuple[None, None]
    sure: bool = False


def put(level: int, page: int, stored: Page) -> Callable[[World], None]:
    return lambda world: world.put(level, page, stored)


def change(level: int, page: int, **facts) -> Callable[[World], None]:
    return lambda world: world.change_page(level, page, **facts)


def lose(level: int, *pages: int) -> Callable[[World], object]:
    return lambda world: [world.lose(level, page) for page in pages]


def say(**facts) -> Callable[[World], None]:
    return lambda world: world.change_batch(**facts)


FULL_LEAF = Page(0b1111_1111, PAGE_BITS)
NOWHERE = (None, None)
BROKEN = {
    "n too small": Case(closed, change(0, 8, n=6), Rule.COUNT, (0, 8), True),
    "failed and not acked": Case(closed, change(0, 8, failed=1 << 7), Rule.FAILED_NOT_ACKED, (0, 8), True),
    "a bit beyond the size": Case(closed, change(0, 18, bits=1 << 6, n=1), Rule.TOO_MANY, (0, 18), True),
    "compacted while partial": Case(closed, change(0, 8, compacted=True), Rule.COMPACTED, (0, 8), True),
    "written to once compacted": Case(complete, change(0, 3, n=9), Rule.COMPACTED, (0, 3), True),
    "a leaf beyond a final total": Case(closed, put(0, 19, Page(1, 1)), Rule.BEYOND_TOTAL, (0, 19), True),
    "a leaf beyond the total": Case(partly_acked, put(0, 19, Page(1, 1)), Rule.BEYOND_TOTAL, (0, 19)),
    "an item beyond the total": Case(partly_acked, put(0, 18, Page(64, 1)), Rule.BEYOND_TOTAL, (0, 18)),
    "a level beyond the root": Case(closed, put(3, 1, Page(1, 1)), Rule.BEYOND_TOTAL, (3, 1), True),
    "a size in the middle": Case(closed, change(0, 8, size=7), Rule.WRONG_SIZE, (0, 8), True),
    "two roots": Case(closed, change(1, 2, root=True), Rule.WRONG_SIZE, (1, 2), True),
    "a tail of another total": Case(closed, change(0, 18, size=5), Rule.WRONG_SIZE, (0, 18), True),
    "a tail of an open batch": Case(partly_acked, put(0, 18, Page(size=6)), Rule.WRONG_SIZE, (0, 18)),
    "close died before its end": Case(closed, lose(2, 0), Rule.UNSEALED, (2, 0)),
    "a climb died": Case(closed, put(0, 9, FULL_LEAF), Rule.CLIMB_MISSING, (0, 9)),
    "a climb died in an open batch": Case(partly_acked, put(0, 9, FULL_LEAF), Rule.CLIMB_MISSING, (0, 9)),
    "a parent was lost": Case(partly_acked, lose(1, 0), Rule.CLIMB_MISSING, (0, 7)),
    "a parent forgot a bit": Case(complete, put(1, 2, Page(0b011, 2, 3)), Rule.CLIMB_MISSING, (0, 18)),
    "a parent is ahead": Case(closed, put(1, 1, Page(0b1, 1)), Rule.NOT_FULL, (0, 8)),
    "a parent knows of nothing": Case(closed, put(1, 1, Page(0b1000, 1)), Rule.NOT_FULL, (0, 11)),
    "a full page was lost": Case(complete, lose(0, 4), Rule.NOT_FULL, (0, 4)),
    "the leaves were lost": Case(complete, lose(0, *range(19)), Rule.NOT_FULL, (0, 0)),
    "a level was lost": Case(complete, lose(1, 0, 1, 2), Rule.NOT_FULL, (1, 2)),
    "a failure without mark": Case(
        complete_with_failures, change(1, 1, failed=0), Rule.FAILURE_UNMARKED, (0, 9)
    ),
    "not marked COMPLETE": Case(complete, say(state=State.CLOSED), Rule.NOT_COMPLETE, NOWHERE),
    "an empty batch did not end": Case(empty, say(state=State.CLOSED), Rule.NOT_COMPLETE, NOWHERE),
    "failures did not end it": Case(ended_by_failures, say(state=State.OPEN), Rule.NOT_COMPLETE, NOWHERE),
    "a percentage did not end it": Case(
        ended_by_failures,
        say(state=State.CLOSED, max_failures=None, max_failure_percent=3),
        Rule.NOT_COMPLETE,
        NOWHERE,
    ),
    "COMPLETE with items to go": Case(closed, say(state=State.COMPLETE), Rule.COMPLETE_EARLY, NOWHERE),
    "COMPLETE without a root": Case(complete, lose(2, 0), Rule.COMPLETE_EARLY, NOWHERE),
    "enough by too few": Case(ended_by_successes, say(reached=11), Rule.ENOUGH_EARLY, NOWHERE, True),
    "a failure counted twice": Case(closed, say(failed=7), Rule.FAILED_COUNT, NOWHERE),
    "a counter compacted early": Case(estimated, change(0, 1, compacted=True), Rule.COMPACTED, (0, 1), True),
    "a counter too many": Case(estimated_complete, put(0, 1, Page(n=4)), Rule.BEYOND_TOTAL, (0, 1), True),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_is_found_and_named_where_it_is(case):
    reported = BROKEN[case]
    world = reported.sound()
    reported.broken(world)

    found = [(f.rule, (f.level, f.page), f.sure) for f in world.audited()]

    assert (reported.rule, reported.place, reported.sure) in found


def test_every_rule_about_a_batch_that_is_there_is_broken_once():
    of_reading = {Rule.MALFORMED, Rule.ORPHAN}

    assert {case.rule for case in BROKEN.values()} == set(Rule) - of_reading


def test_a_page_without_a_batch_is_an_orphan():
    stored = Stored(0, 7, Page(1, 1))

    assert [(f.rule, f.level, f.page) for f in audit_batch(None, [stored])] == [(Rule.ORPHAN, 0, 7)]


def test_a_climb_cut_short_in_a_batch_that_was_cut_off_is_no_matter():
    world = cancelled()
    world.put(0, 9, FULL_LEAF)

    assert world.audited() == []


def test_pages_may_be_gone_once_a_batch_is_older_than_any_can_be():
    batch = facts_of(closed().batch)

    assert may_be_gone(batch, batch["created_at"] + timedelta(days=400))
    assert not may_be_gone(batch, batch["created_at"] + timedelta(days=399))
