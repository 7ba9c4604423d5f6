"""The depth of a queue: exact for few jobs, estimated for many, always with a bounded number of rows read."""

from __future__ import annotations

import math
from random import Random

import pytest

from fanin.queue import NewJob
from fanin.queue.administration.counting import COUNTED_MAX, Estimate, estimate
from fanin.queue.administration.looking import LOOK_ROWS
from fanin.queue.rules.keys import part_of
from fanin.queue.rules.model import Accuracy


def spread(jobs: int, parts: int, seed: int = 1) -> list[int]:
    """The number of jobs of each part, by the hash of their keys."""
    rows = [0] * parts
    for number in range(jobs):
        rows[part_of(f"{seed} {number}".encode(), parts)] += 1
    return rows


def counted(rows: list[int]) -> tuple[Estimate, int]:
    """The estimate of the sum of *rows*, and the number of rows that were read for it."""
    read = []

    def count_of(size: int):
        def count(limit: int) -> int:
            read.append(min(size, limit))
            return read[-1]

        return count

    return estimate([count_of(size) for size in rows]), sum(read)


@pytest.mark.parametrize("rows", [[0] * 8, [COUNTED_MAX], [600] * 8, [0, 0, 5000, 0]], ids=str)
def test_a_number_up_to_the_bound_is_exact(rows):
    assert counted(rows)[0] == Estimate(sum(rows), Accuracy.EXACT)


@pytest.mark.parametrize("parts", [2, 8, 64, 256])
def test_a_larger_number_is_estimated_within_four_standard_deviations(parts):
    jobs = min(30_000, COUNTED_MAX * parts * 3 // 4)
    found, read = counted(spread(jobs, parts))

    assert found.accuracy is Accuracy.APPROXIMATE
    assert abs(found.jobs - jobs) <= 4 * math.sqrt(2 / COUNTED_MAX) * jobs
    assert read <= COUNTED_MAX + 1


def test_the_error_has_the_standard_deviation_that_the_module_says():
    random, jobs, parts = Random(7), 24_000, 8
    errors = []
    for _ in range(400):
        rows, left = [], jobs
        for part in range(parts):
            share = left / (parts - part)
            noise = random.gauss(0, math.sqrt(share * (1 - 1 / (parts - part))))
            rows.append(min(left, max(0, round(share + noise))))
            left -= rows[-1]
        errors.append(counted(rows)[0].jobs - jobs)
    deviation = math.sqrt(sum(error**2 for error in errors) / len(errors))

    assert deviation <= 1.2 * math.sqrt(jobs * (parts - 1))
    assert deviation / jobs <= math.sqrt(2 / COUNTED_MAX)


@pytest.mark.parametrize("jobs", [10**6, 10**7])
def test_of_a_huge_number_it_is_known_how_many_there_are_at_least(jobs):
    found, read = counted([jobs // 8] * 8)

    assert found == Estimate(8 * COUNTED_MAX, Accuracy.AT_LEAST)
    assert read == COUNTED_MAX + 1


def test_a_depth_has_the_worst_accuracy_of_its_numbers(make, monkeypatch):
    queue = make(parts=2)
    queue.add_all(NewJob(f"job {number}", delay=60) for number in range(3 * LOOK_ROWS))
    exact = queue.depth()
    monkeypatch.setattr("fanin.queue.administration.counting.COUNTED_MAX", 40)
    queue.add("ready")
    estimated = queue.depth()

    assert (exact.delayed, exact.accuracy) == (3 * LOOK_ROWS, Accuracy.EXACT)
    assert (estimated.ready, estimated.accuracy) == (1, Accuracy.APPROXIMATE)


def test_a_queue_with_few_jobs_is_counted_by_the_look_alone(queue, store):
    queue.add_all(["a", NewJob("b", delay=60)])
    store.requests.clear()
    depth = queue.depth()

    assert (depth.ready, depth.busy, depth.delayed) == (1, 0, 1)
    assert sorted(set(store.requests)) == ["count_dead", "first"]
