"""When a process reads the config of its queue again, and what a depth is made of."""

from __future__ import annotations

import pytest

from fanin.queue.administration.counting import depth_of, estimate
from fanin.queue.administration.looking import look
from fanin.queue.config_cache import ConfigCache
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.model import Accuracy
from tests.queue.claiming import Bench

CONFIG = QueueConfig(4)


@pytest.mark.parametrize(
    ("seconds", "wall_us", "fresh"),
    [
        (59.999, 0, True),
        (60, 0, False),
        (0, 59_999_999, True),
        (0, 60_000_000, False),
        (0, -59_999_999, True),
        (0, -60_000_000, False),
    ],
)
def test_a_config_is_used_for_a_minute_by_both_clocks(seconds, wall_us, fresh):
    cache = ConfigCache()
    cache.keep(CONFIG, 100.0, 10**9)

    assert cache.fresh(100.0 + seconds, 10**9 + wall_us) == (CONFIG if fresh else None)


def test_a_config_that_was_requested_earlier_replaces_none():
    cache = ConfigCache()
    cache.keep(CONFIG, 100.0, 10**9)
    cache.keep(None, 99.9, 10**9)
    kept = cache.config
    cache.keep(None, 100.0, 10**9)

    assert (kept, cache.config) == (CONFIG, None)


def test_a_missing_doorbell_is_created_once_in_five_seconds():
    cache = ConfigCache()

    assert [cache.may_create(at) for at in (0.0, 4.999, 5.0, 9.999, 10.0)] == [True, False, True, False, True]


def depth(bench, parts=8):
    return depth_of(
        bench.context, look(bench.context, [bench.context.part(number) for number in range(parts)])
    )


def test_a_job_that_a_clock_ahead_added_has_not_waited():
    bench = Bench()
    bench.add("a")
    bench.time.passed -= 5_000_000

    assert depth(bench, 1).oldest_us == 0


@pytest.mark.parametrize(
    ("jobs", "found", "accuracy"),
    [
        ([5000], 5000, Accuracy.EXACT),
        ([5001], 5000, Accuracy.AT_LEAST),
        ([5001, 0, 0], 15_000, Accuracy.AT_LEAST),
        ([2000, 3000, 1, 9], 10_000, Accuracy.APPROXIMATE),
        ([2000, 3000, 0, 0], 5000, Accuracy.EXACT),
        ([], 0, Accuracy.EXACT),
    ],
)
def test_an_estimate_counts_up_to_5000_jobs_and_extrapolates(jobs, found, accuracy):
    limits = []

    def counting(number):
        def count(limit):
            limits.append(limit)
            return min(number, limit)

        return count

    made = estimate([counting(number) for number in jobs])

    assert (made.jobs, made.accuracy) == (found, accuracy)
    assert limits[:2] == [5001, 5001 - jobs[0]][: len(limits)] if jobs else not limits
    raised = estimate([counting(number) for number in jobs], even=False)
    assert raised.accuracy is (Accuracy.EXACT if accuracy is Accuracy.EXACT else Accuracy.AT_LEAST)
    assert raised.jobs == min(sum(jobs), 5000)
