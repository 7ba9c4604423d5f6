from __future__ import annotations

from dataclasses import replace

import pytest

from examples.catalog.checks.expectation import Expectation
from examples.catalog.checks.verdict import Result, differences
from fanin.tracker import State
from tests.catalog.makers import detail, status

EXPECTED = Expectation(3, frozenset({"a_1", "b_1", "c_1"}), {"a_1": 1, "b_1": 1}, {"c_1": 1})
GOOD = Result(
    status(), ["a_1", "b_1", "c_1"], [detail()], dead_letter_messages=0, called={"a_1": 1, "b_1": 1}, jobs=1
)


def test_a_run_as_promised_has_no_differences():
    assert differences(EXPECTED, GOOD) == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"status": status(state=State.CLOSED)}, "the batch's state is CLOSED, not COMPLETE"),
        (
            {"status": status(result="completed_with_failures")},
            "the batch's result is completed_with_failures",
        ),
        ({"status": status(total=4)}, "the batch's total is 4, not 3"),
        ({"status": status(acked=2)}, "the batch's acked is 2, not 3"),
        ({"details": []}, "0 distinct completion events came, not one"),
        ({"details": [detail(), detail(eventId="2")]}, "2 distinct completion events came, not one"),
        ({"details": [detail(total=4)]}, "the event's total is 4, not 3"),
        ({"details": [detail(result=None)]}, "the event's result is None, not succeeded"),
        ({"indexed": ["a_1", "c_1"]}, "1 packages are missing from the index: b_1"),
        ({"indexed": ["a_1", "b_1", "c_1", "d_1"]}, "1 packages are strange to the index: d_1"),
        ({"jobs": 0}, "0 jobs have an outcome, not 1"),
        ({"jobs": 2}, "2 jobs have an outcome, not 1"),
        ({"dead_letter_messages": 2}, "2 dead-letter messages"),
        ({"called": {"a_1": 1}}, "1 packages are in no successful call of the batch API: b_1"),
        (
            {"called": {"a_1": 1, "b_1": 2}},
            "1 packages are in more successful calls of the batch API than one: b_1",
        ),
        (
            {"called": {"a_1": 1, "b_1": 1, "c_1": 1}},
            "1 packages are in more successful calls of the batch API than one: c_1",
        ),
    ],
)
def test_what_differs_is_named_and_nothing_else(change, named):
    found = differences(EXPECTED, replace(GOOD, **change))

    assert [line.startswith(named) for line in found] == [True]


def test_of_many_packages_a_few_are_named():
    many = Expectation(9, frozenset(f"p{n}_1" for n in range(9)))
    found = differences(many, Result(status(total=9, acked=9), [], [detail(total=9)], 0, {}))

    assert found == ["9 packages are missing from the index: p0_1, p1_1, p2_1 and 6 more"]
