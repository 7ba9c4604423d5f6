"""What the sweep reads of idle, busy and large queues, in read units a minute."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanin.queue.administration.counting import COUNTED_MAX
from fanin.queue.administration.looking import LOOK_ROWS
from fanin.queue.rules.keys import PartKey
from lab.requests.queue_reads import (
    QUEUE,
    described,
    index_bytes,
    swept,
    table,
    units,
    visited,
    waiting_job,
)

PART = PartKey(QUEUE, 0)


def test_a_visit_to_a_queue_with_few_jobs_reads_each_part_once():
    assert visited(0) == visited(LOOK_ROWS * 8 - 8) == 1 + 1 + 8 + 8 + 8 / 2


def test_the_dead_jobs_are_read_in_one_of_five_visits():
    assert visited(0, known_dead=0) == visited(0) - 8 / 2
    assert swept(0) == visited(0) - 0.8 * 8 / 2 + 1


def test_a_thousand_sleeping_queues_cost_less_than_a_dollar_a_month():
    costs = {name: (read, paid) for name, read, paid in table()}

    assert costs["1,000 sleeping queues"] < (20, 1)


@pytest.mark.parametrize("jobs", [10**5, 10**6, 10**7])
@pytest.mark.parametrize("parts", [8, 256])
def test_the_reads_of_a_visit_are_bounded_whatever_the_number_of_jobs(jobs, parts):
    counted = units(COUNTED_MAX + 1, index_bytes(waiting_job(PART)), consistent=False)

    assert visited(jobs, parts) <= 3.5 + 5 * parts + counted
    assert visited(jobs, parts) <= (130 if parts == 8 else 1400)


@pytest.mark.parametrize("jobs", [10**3, 10**5, 10**7])
@pytest.mark.parametrize("parts", [8, 256])
def test_the_reads_of_a_status_are_bounded_whatever_the_number_of_jobs(jobs, parts):
    counted = units(COUNTED_MAX + 1, index_bytes(waiting_job(PART)), consistent=False)

    assert counted < 100
    assert described(jobs, parts) <= 1.5 + 3.5 * parts + counted


def test_the_page_has_the_table():
    page = (Path(__file__).parents[2] / "docs" / "how_the_queue_works.md").read_text()

    for name, read, paid in table():
        assert f"| {name} | {read:,.1f} | {paid:,.2f} |" in page
