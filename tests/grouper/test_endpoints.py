"""Batch APIs with credentials, and timeouts that fit into leases: checked before anything is deployed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.errors import InvalidRequest
from fanin.grouper import Policies, Policy
from fanin.grouper.settings.endpoints import Endpoint, Secret, Signing, check_timeouts, overlap
from fanin.grouper.settings.parsing import endpoints_of, policies_of

SECRET = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:batch/api-AbCdEf"
KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
FUNCTION = "arn:aws:lambda:eu-west-1:111122223333:function:batch"
SIGNING = {
    "service": "execute-api",
    "region": "eu-west-1",
    "actions": ["execute-api:Invoke"],
    "resource": "arn:aws:execute-api:eu-west-1:111122223333:abcdef1234/$default/POST/batch",
}
HTTPS = {"pattern": "*", "url": "https://a"}


def test_the_overlap_of_long_patterns_is_found_without_recursion():
    assert overlap("a" * 2000 + "*", "a" * 1999 + "?b")
    assert not overlap("*" + "a" * 2000, "*" + "a" * 1999 + "b")


def test_a_url_with_a_password_is_refused_without_it():
    with pytest.raises(InvalidRequest, match="put credentials into a secret") as refused:
        endpoints_of([{"pattern": "*", "url": "https://user:pa55word@a/"}])

    assert "pa55word" not in str(refused.value)


def test_every_kind_is_read():
    rows = [
        {**HTTPS, "secret": SECRET, "secretKey": KEY, "secretSeconds": 60},
        {**HTTPS, "signing": SIGNING},
        {"pattern": "*", "function": f"{FUNCTION}:live", "timeoutSeconds": 25},
    ]
    signing = Signing("execute-api", "eu-west-1", ("execute-api:Invoke",), SIGNING["resource"])

    assert endpoints_of(rows) == (
        Endpoint("*", "https://a", secret=Secret(SECRET, KEY, 60.0)),
        Endpoint("*", "https://a", signing=signing),
        Endpoint("*", timeout=25.0, function=f"{FUNCTION}:live"),
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({**HTTPS, "function": FUNCTION}, "either a url or a function"),
        ({"pattern": "*", "function": "batch"}, "ARN of a Lambda function"),
        ({"pattern": "*", "function": FUNCTION + "*"}, "ARN of a Lambda function"),
        ({"pattern": "*", "function": FUNCTION, "secret": SECRET}, "takes no url, secret or signing"),
        ({**HTTPS, "secret": SECRET[:-7]}, "its six last characters"),
        ({**HTTPS, "secret": SECRET[:-6] + "??????"}, "its six last characters"),
        ({**HTTPS, "secret": 5}, "secret must be a text"),
        ({**HTTPS, "secretKey": KEY}, "need a secret"),
        ({**HTTPS, "secret": SECRET, "secretKey": "*"}, "the ARN of a KMS key"),
        ({**HTTPS, "secret": SECRET, "secretSeconds": 0}, "secretSeconds must be 1 to 86400"),
        ({**HTTPS, "url": "http://a", "secret": SECRET}, "over https only"),
        ({**HTTPS, "url": "http://[::1"}, "must be an http"),
        ({**HTTPS, "url": "https://a:99999/"}, "must be an http"),
        ({**HTTPS, "url": "https://a b/"}, "must be an http"),
        ({**HTTPS, "url": "https://a/\n"}, "must be an http"),
        ({**HTTPS, "url": "https://a/#b"}, "must be an http"),
        ({**HTTPS, "url": "https://a/\u00e9"}, "must be an http"),
        ({**HTTPS, "url": "http://a", "signing": SIGNING}, "over https only"),
        ({**HTTPS, "signing": "execute-api"}, "signing takes an object"),
        ({**HTTPS, "signing": SIGNING | {"actions": "execute-api:Invoke"}}, "a list of IAM actions"),
        ({**HTTPS, "signing": SIGNING | {"actions": []}}, "at least one IAM action"),
        ({**HTTPS, "signing": SIGNING | {"actions": ["execute-api:*"]}}, "without wildcards"),
        ({**HTTPS, "signing": SIGNING | {"resource": "*"}}, "an ARN without wildcards"),
        ({**HTTPS, "signing": SIGNING | {"resource": SIGNING["resource"] + "/*"}}, "without wildcards"),
        ({**HTTPS, "signing": SIGNING | {"region": ""}}, "the name of an AWS region"),
        ({**HTTPS, "signing": SIGNING | {"role": "x"}}, "unknown setting"),
        ({**HTTPS, "headers": {"Authorization": "x"}}, "unknown setting"),
    ],
    ids=str,
)
def test_any_other_form_is_refused_with_a_reason(row, reason):
    with pytest.raises(InvalidRequest, match=reason):
        endpoints_of([row])


@pytest.mark.parametrize("host", ["127.0.0.1:9000", "localhost"])
def test_on_this_machine_credentials_need_no_https(host):
    assert endpoints_of([{"pattern": "*", "url": f"http://{host}/", "secret": SECRET}])


def seconds(number):
    return timedelta(seconds=number)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"leaseSeconds": 4}, "leaseSeconds must be 5 to 300"),
        ({"leaseSeconds": 301}, "leaseSeconds must be 5 to 300"),
        ({"callLeaseSeconds": 841}, "callLeaseSeconds must be 5 to 840"),
        (
            {"callTimeoutSeconds": 31},
            "callTimeoutSeconds is 31; it must be more than 0 and at most 30, half of",
        ),
        ({"callTimeoutSeconds": 0}, "callTimeoutSeconds is 0"),
        ({"callLeaseSeconds": 20, "callTimeoutSeconds": 11}, "at most 10, half of callLeaseSeconds"),
    ],
    ids=str,
)
def test_leases_and_timeouts_of_a_policy_fit_each_other(facts, reason):
    with pytest.raises(InvalidRequest, match=reason):
        policies_of([{"pattern": "*", **facts}])


def test_the_bounds_of_leases_are_taken():
    (row,) = policies_of(
        [{"pattern": "*", "leaseSeconds": 300, "callLeaseSeconds": 840, "callTimeoutSeconds": 420}]
    ).patterns

    assert (row[1].lease, row[1].call_lease, row[1].call_timeout) == (
        seconds(300),
        seconds(840),
        seconds(420),
    )


SLOW = Policy(call_lease=seconds(400))


@pytest.mark.parametrize(
    ("policies", "pattern", "fits"),
    [
        ((), "*", False),
        ((("slow-*", SLOW),), "slow-*", True),
        ((("slow-*", SLOW),), "slow-mail", True),
        ((("slow-*", SLOW),), "*", False),
        ((("slow-*", SLOW), ("*", Policy(call_timeout=seconds(5)))), "*", True),
        ((("slow-a*", Policy()), ("slow-*", SLOW)), "slow-*", False),
        ((("fast-*", Policy()), ("*", SLOW)), "slow-*", True),
    ],
    ids=str,
)
def test_the_timeout_of_a_batch_api_fits_every_policy_of_its_targets(policies, pattern, fits):
    endpoints = (Endpoint(pattern, "https://a", timeout=100.0),)
    if fits:
        check_timeouts(Policies(policies), endpoints)
        return
    with pytest.raises(InvalidRequest, match="timeoutSeconds is 100; it must be more than 0 and at most 30"):
        check_timeouts(Policies(policies), endpoints)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("*", "a", True),
        ("a*", "*b", True),
        ("a*", "b*", False),
        ("a?c", "ab*", True),
        ("a?c", "ab", False),
        ("a*c", "abd", False),
        ("", "*", True),
        ("", "a", False),
        ("[ab]", "c", True),
        ("*" * 64, "a" * 64 + "*" * 64, True),
    ],
)
def test_two_patterns_overlap_if_one_target_matches_both(one, other, both):
    assert overlap(one, other) == overlap(other, one) == both
