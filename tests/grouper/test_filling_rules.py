"""When a leader waits for more tasks, and when it fills another bundle: up to the bounds themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fanin.grouper import Lane, Policy, Task, TaskState
from fanin.grouper.rules import protocol as rules
from fanin.grouper.rules.model import Candidate

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LANE, PART = Lane("t", "search", "0"), Lane("t", "search", "part-x-0")
POLICY = Policy(max_size=3, max_delay=timedelta(seconds=10))
TICK = timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("lane", "count", "waited", "worth"),
    [
        (LANE, 2, POLICY.max_delay - TICK, False),
        (LANE, 2, POLICY.max_delay, True),
        (LANE, 3, timedelta(0), True),
        (PART, 1, timedelta(0), True),
        (LANE, 0, timedelta(0), False),
    ],
)
def test_another_bundle_is_worth_it_when_it_is_full_or_a_task_waited_long_enough(lane, count, waited, worth):
    found = [Candidate(lane, str(number), NOW - waited) for number in range(count)]

    assert rules.worth_another(found, POLICY, NOW) is worth


@pytest.mark.parametrize(
    ("lane", "open_tasks", "waited", "seconds"),
    [(LANE, 2, 4, 6), (LANE, 2, 10, 0), (LANE, 2, 11, 0), (LANE, 3, 4, 0), (LANE, 4, 4, 0), (PART, 1, 4, 0)],
)
def test_a_task_waits_for_others_until_a_bundle_is_full_or_its_delay_is_over(
    lane, open_tasks, waited, seconds
):
    due = NOW - timedelta(seconds=waited)
    task = Task("t", "a", "search", lane.shard, TaskState.CREATED, "1", 0, None, 0, due, due, NOW)

    assert rules.batching_wait(task, open_tasks, POLICY, NOW) == timedelta(seconds=seconds)
