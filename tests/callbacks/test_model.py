"""What a callback may be, who may name it, and how long a webhook rests between two calls."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest

from fanin.callbacks import callbacks_of, check_allowed
from fanin.callbacks.model import RETRIED_FOR, pause_seconds
from fanin.errors import InvalidRequest

QUEUE = "arn:aws:sqs:eu-west-1:111122223333:orders"
TOPIC = "arn:aws:sns:eu-west-1:111122223333:people"
SECRET = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:shop-AbCdEf"
HOOK = {"name": "shop", "url": "https://shop.example.com/fanin?a=b", "secret": SECRET}
OWN = "111122223333"


def test_each_kind_is_read() -> None:
    rows = [
        {"name": "orders", "queue": QUEUE},
        {"name": "in.order", "queue": f"{QUEUE}.fifo", "tenants": ["a", "b"]},
        {"name": "people", "topic": TOPIC, "tenants": ["*"]},
        {**HOOK, "timeoutSeconds": 5, "secretSeconds": 60},
    ]
    queue, fifo, topic, hook = callbacks_of(rows)

    assert (queue.arn, fifo.arn, topic.arn, hook.arn) == (QUEUE, f"{QUEUE}.fifo", TOPIC, "")
    assert (hook.url, hook.timeout) == (HOOK["url"], 5)
    assert hook.secret is not None
    assert (hook.secret.arn, hook.secret.refresh) == (SECRET, 60)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"queue": QUEUE}, "name is ''"),
        ({"name": "a b", "queue": QUEUE}, "name is 'a b'"),
        ({"name": "a"}, "a queue, a topic or a url"),
        ({"name": "a", "queue": ""}, "a queue, a topic or a url"),
        ({"name": "a", "queue": QUEUE, "topic": TOPIC}, "a queue, a topic or a url"),
        ({"name": "a", "queue": TOPIC}, "the ARN of an SQS queue"),
        ({"name": "a", "topic": QUEUE}, "the ARN of an SNS topic"),
        ({"name": "a", "topic": f"{TOPIC}.fifo"}, "cannot publish to a FIFO topic"),
        ({"name": "a", "queue": QUEUE, "secret": SECRET}, "unknown setting of a callback: secret"),
        ({"name": "a", "queue": QUEUE, "size": 1}, "unknown setting of a callback: size"),
        ({"name": "a", "queue": 5}, "queue must be a text"),
        ({"name": "a", "queue": QUEUE, "tenants": []}, "tenants is empty"),
        ({"name": "a", "queue": QUEUE, "tenants": "acme"}, "tenants takes a list"),
        ({"name": "a", "queue": QUEUE, "tenants": ["acme", "*"]}, "or [*] alone for all"),
        ({"name": "a", "queue": QUEUE, "tenants": ["a#b"]}, "names of tenants"),
        ({"name": "a", "queue": QUEUE, "tenants": ["b", "b"]}, "names a tenant twice"),
        ({**HOOK, "url": "http://shop.example.com/"}, "over https only"),
        ({**HOOK, "url": "https://me:pw@shop.example.com/"}, "without user name"),
        ({**HOOK, "url": "ftp://shop.example.com/"}, "an https URL"),
        ({**HOOK, "url": "https://169.254.169.254/latest"}, "a private address"),
        ({**HOOK, "url": "https://10.0.0.8/"}, "a private address"),
        ({**HOOK, "url": "https://2130706433/"}, "a private address"),
        ({**HOOK, "url": "https://[fd00:ec2::254]/"}, "a private address"),
        ({**HOOK, "url": "https://vault.internal/"}, "a private address"),
        ({**HOOK, "url": "https://vault.internal./"}, "a private address"),
        ({**HOOK, "url": "https://localhost./"}, "a private address"),
        ({**HOOK, "url": "https://0x7f.1/"}, "a private address"),
        ({**HOOK, "url": "https://0X7F000001/"}, "a private address"),
        ({**HOOK, "url": "https://%31%32%37.0.0.1/"}, "a private address"),
        ({**HOOK, "url": "https://[ff02::1]/"}, "a private address"),
        ({"name": "a", "url": HOOK["url"]}, "needs a secret"),
        ({"name": "a", "url": HOOK["url"], "secretSeconds": 5}, "need a secret"),
        ({**HOOK, "secret": SECRET[:-7]}, "the whole ARN of a secret"),
        ({**HOOK, "timeoutSeconds": 21}, "at most 20"),
        ({**HOOK, "timeoutSeconds": 0}, "at most 20"),
    ],
    ids=str,
)
def test_a_malformed_callback_is_refused_with_its_number(row: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidRequest, match=rf"^entry 2: .*{expected}"):
        callbacks_of([{"name": "first", "queue": QUEUE}, row])


def test_two_callbacks_have_two_names() -> None:
    with pytest.raises(InvalidRequest, match="two callbacks have the name orders"):
        callbacks_of([{"name": "orders", "queue": QUEUE}, {"name": "orders", "topic": TOPIC}])


@pytest.mark.parametrize("other", [TOPIC.replace("eu-west-1", "us-east-1"), TOPIC.replace("1111", "2222")])
def test_callbacks_of_two_places_are_refused(other: str) -> None:
    with pytest.raises(InvalidRequest, match="EventBridge reaches those in the region and account of the"):
        callbacks_of([{"name": "orders", "queue": QUEUE}, {"name": "people", "topic": other}])


CALLBACKS = callbacks_of(
    [
        {"name": "orders", "queue": QUEUE},
        {"name": "acme", "queue": QUEUE, "tenants": ["acme"]},
        {"name": "people", "topic": TOPIC, "tenants": ["*"]},
    ]
)


@pytest.mark.parametrize(
    ("tenant", "allowed"),
    [(OWN, {"orders", "people"}), ("acme", {"acme", "people"}), ("other", {"people"}), ("*", {"people"})],
)
def test_a_tenant_names_the_callbacks_that_allow_it(tenant: str, allowed: set[str]) -> None:
    for name in allowed:
        check_allowed(name, CALLBACKS, tenant, OWN)
    for name in {each.name for each in CALLBACKS} - allowed | {"shop"}:
        with pytest.raises(InvalidRequest) as refused:
            check_allowed(name, CALLBACKS, tenant, OWN)
        assert refused.value.field == "callback"
        assert str(refused.value) == f"there is no callback {name!r}: use one of {', '.join(sorted(allowed))}"


def test_a_tenant_without_callbacks_has_none() -> None:
    with pytest.raises(InvalidRequest, match="this deployment has none for your tenant"):
        check_allowed("orders", CALLBACKS[:2], "other", OWN)


@pytest.mark.parametrize("jitter", [0.0, 0.999])
def test_pauses_grow_to_an_hour_and_a_day_has_24_to_45_of_them(jitter: float) -> None:
    pauses = [pause_seconds(receives, jitter) for receives in range(1, 101)]
    sums = list(itertools.accumulate(pauses))

    assert sorted(pauses) == pauses
    assert 22 <= pauses[0] <= 30
    assert 2700 <= pauses[-1] <= 3600
    assert 24 <= sum(at < RETRIED_FOR.total_seconds() for at in sums) <= 45


def test_a_receiver_s_request_lengthens_a_pause_only() -> None:
    assert pause_seconds(1, 0, timedelta(seconds=90)) == 90
    assert pause_seconds(5, 0, timedelta(seconds=90)) == 480
