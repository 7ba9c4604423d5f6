"""What the sweep reads of idle, busy and large queues, in read units a minute."""

from __future__ import annotations

import pytest

from benchmarks.queue_reads import (
    QUEUE,
    before,
    bytes_of,
    described,
    index_bytes,
    table,
    units,
    visited,
    waiting_job,
)
from fanin.queue.counting import COUNTED_MAX
from fanin.queue.keys import PartKey
from fanin.queue.looking import LOOK_ROWS

PART = PartKey(QUEUE, 0)


def test_the_reads_of_before_are_those_that_were_measured():
    assert before(0) == 51
    assert 180 < dict((name, paid) for name, _, paid, _, _ in table())["one queue of 1,000,000 jobs"] < 200


def test_a_visit_to_a_queue_with_few_jobs_reads_each_part_once():
    assert visited(0) == visited(LOOK_ROWS * 8 - 8) == 1 + 1 + 8 + (1 + 8) + (1 + 8) / 2


def test_a_thousand_idle_queues_cost_less_than_a_dollar_a_month():
    costs = {name: (now, pays) for name, _, _, now, pays in table()}

    assert costs["1,000 idle queues"] < (20, 1)


@pytest.mark.parametrize("jobs", [10**5, 10**6, 10**7])
@pytest.mark.parametrize("parts", [8, 256])
def test_the_reads_of_a_visit_are_bounded_whatever_the_number_of_jobs(jobs, parts):
    counted = units(COUNTED_MAX + 1, index_bytes(waiting_job(PART)), consistent=False)

    assert visited(jobs, parts) <= 3.5 + 5 * parts + counted
    assert visited(jobs, parts) <= (130 if parts == 8 else 1400)


def test_the_status_of_a_queue_with_few_jobs_reads_each_part_once():
    assert described(0) == described(LOOK_ROWS * 8 - 8) == 1 + 8 + 9 * 0.5


@pytest.mark.parametrize("jobs", [10**3, 10**5, 10**7])
@pytest.mark.parametrize("parts", [8, 256])
def test_the_reads_of_a_status_are_bounded_whatever_the_number_of_jobs(jobs, parts):
    counted = units(COUNTED_MAX + 1, index_bytes(waiting_job(PART)), consistent=False)

    assert counted < 100
    assert described(jobs, parts) <= 1.5 + 3.5 * parts + counted


def test_a_look_at_a_part_is_one_read_unit():
    assert units(LOOK_ROWS, index_bytes(waiting_job(PART))) == 1


def test_a_row_has_the_bytes_of_its_names_and_values():
    assert bytes_of({"a": {"S": "é"}, "bc": {"N": "12345"}}) == 1 + 2 + 2 + 4
