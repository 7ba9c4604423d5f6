"""The JSON of a deployment: exact, or refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.errors import InvalidRequest
from fanin.grouper import Isolation, Policy
from fanin.grouper.settings.parsing import endpoints_of, policies_of

ALL = {
    "pattern": "orders-*",
    "lingerSeconds": 0.5,
    "maxDelaySeconds": 3,
    "maxSize": 50,
    "shards": 2,
    "rate": 2.5,
    "burst": 3,
    "isolation": "halves",
    "maxAttempts": 4,
    "inPlace": 1,
}


def test_every_setting_is_read():
    policies = policies_of([ALL])

    assert policies.of("orders-eu") == Policy(
        linger=timedelta(seconds=0.5),
        max_delay=timedelta(seconds=3),
        max_size=50,
        shards=2,
        rate=2.5,
        burst=3,
        isolation=Isolation.HALVES,
        max_attempts=4,
        in_place=1,
    )
    assert policies.of("mails") == Policy()


def test_the_first_pattern_that_fits_decides_and_none_at_all_is_the_default():
    rows = [{"pattern": "a*", "maxSize": 1}, {"pattern": "*", "maxSize": 2}]

    assert [policies_of(rows).of(name).max_size for name in ("ab", "b")] == [1, 2]
    assert policies_of([]).of("any") == Policy()


def test_who_only_lingers_longer_waits_no_longer_than_that():
    policy = policies_of([{"pattern": "*", "lingerSeconds": 7}]).of("any")

    assert policy.linger == policy.max_delay == timedelta(seconds=7)


@pytest.mark.parametrize(
    "change",
    [
        {"pattern": None},
        {"pattern": ""},
        {"maxsize": 5},
        {"maxSize": "5"},
        {"maxSize": True},
        {"maxSize": 5.0},
        {"maxSize": 1001},
        {"rate": "fast"},
        {"rate": 0},
        {"rate": float("inf")},
        {"lingerSeconds": -1},
        {"lingerSeconds": 1e300},
        {"maxDelaySeconds": 0.1},
        {"isolation": "none"},
        {"isolation": ["solo"]},
        {"shards": None},
    ],
    ids=str,
)
def test_anything_else_is_refused(change):
    with pytest.raises(InvalidRequest):
        policies_of([ALL | change])


def test_an_error_names_the_entry_by_its_number():
    with pytest.raises(InvalidRequest, match=r"^entry 2: maxSize must be a whole number$") as refused:
        policies_of([ALL, ALL | {"maxSize": "5"}])

    assert refused.value.field == "maxSize"


@pytest.mark.parametrize(
    "row",
    [
        {"pattern": "*"},
        {"url": "https://a"},
        {"pattern": "*", "url": "ftp://a"},
        {"pattern": "*", "url": "https://"},
        {"pattern": "*", "url": 5},
        {"pattern": "*", "url": "https://a", "timeoutSeconds": 0},
        {"pattern": "*", "url": "https://a", "timeoutSeconds": 421},
        {"pattern": "*", "url": "https://a", "headers": {}},
    ],
    ids=str,
)
def test_a_batch_api_of_another_form_is_refused(row):
    with pytest.raises(InvalidRequest):
        endpoints_of([row])
