"""The token bucket of a rate, and the load that it puts on its rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.errors import InvalidRequest
from fanin.quotas.bucket import BURST, RATE_A_SHARD, UNITS_MAX, Bucket
from fanin.quotas.model import Quota, limits_of

WRITES_A_KEY = 1000
"""Write units a second of one partition key: Best practices for partition keys, DynamoDB Developer Guide."""
REQUESTS_MAX = 10_000
"""Requests a second that a stage of API Gateway admits to this API: the largest ``throttle_rate``."""
LONGEST_REFUSAL = 0.03
"""Seconds of a request that is refused by a write, and so of the processes that do so at once."""


@given(st.integers(1, 100_000), st.lists(st.integers(1, UNITS_MAX), min_size=1, max_size=50))
def test_a_bucket_admits_no_more_than_its_rate_and_its_burst_and_one_request(limit: int, sizes: list[int]):
    bucket, at, full_at, admitted = Bucket(limit), 0, 0, 0
    for size in sizes:
        if not bucket.refuses(full_at, at):
            full_at = max(full_at, at) + bucket.cost(size)
            admitted += size

    assert (admitted - sizes[-1]) * bucket.shards <= 2 * limit + UNITS_MAX * bucket.shards


@given(st.integers(1, 100_000), st.integers(0, 10**6))
def test_what_is_refused_is_admitted_after_the_wait_and_not_before(limit: int, debt: int):
    bucket, at = Bucket(limit), 10**15
    full_at = at + BURST + debt

    wait = bucket.wait(full_at, at)

    assert bucket.refuses(full_at, at + wait - 1)
    assert not bucket.refuses(full_at, at + wait)


@given(st.integers(1, 100_000))
def test_a_flow_at_the_limit_is_never_refused(limit: int):
    bucket, at, full_at = Bucket(limit), 0, 0
    for number in range(50):
        at = number * bucket.cost(1)
        assert not bucket.refuses(full_at, at)
        full_at = max(full_at, at) + bucket.cost(1)


def test_no_debt_explains_a_time_that_is_farther_ahead():
    bucket = Bucket(100)
    most = BURST + bucket.cost(UNITS_MAX)

    assert not bucket.is_impossible(most, 0)
    assert bucket.is_impossible(most + 1, 0)


@pytest.mark.parametrize("limit", [1, 100, 250, 251, 1000, 10_000, 100_000])
def test_no_row_is_written_more_often_than_its_partition_allows(limit: int):
    """A request that is admitted takes two writes at most. A process that is refused pauses for a second."""
    bucket = Bucket(limit)
    admitted = 2 * min(limit, REQUESTS_MAX) / bucket.shards
    refusing = REQUESTS_MAX * LONGEST_REFUSAL

    assert admitted <= 2 * RATE_A_SHARD
    assert admitted + refusing < WRITES_A_KEY


def test_an_unknown_quota_is_refused_by_its_name():
    assert limits_of({"adds": 5}) == {Quota.ADDS: 5}
    with pytest.raises(InvalidRequest, match="'acks'"):
        limits_of({"acks": 5})
