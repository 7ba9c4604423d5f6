"""The settings of targets and batch APIs: read exactly, accepted up to their bounds, or refused by name."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.errors import InvalidRequest, KeyReused, NoTarget
from fanin.grouper import Isolation, NewTask, Policies, Policy, Timing
from fanin.grouper.settings.endpoints import Endpoint, Secret, Signing, check_timeouts, overlap
from fanin.grouper.settings.parsing import endpoints_of, policies_of
from fanin.grouper.settings.targeting import TargetTemplate
from tests.grouper.conftest import TENANT, Bench

PAGE = Path(__file__).parents[2] / "docs" / "grouper_reference.md"
SECRET = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:batch/api-AbCdEf"
KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
FUNCTION = "arn:aws:lambda:eu-west-1:111122223333:function:batch"
RESOURCE = "arn:aws:execute-api:eu-west-1:111122223333:abcdef1234/$default/POST/batch"
ACTIONS = ["execute-api:Invoke"]
SIGNING = {"service": "execute-api", "region": "eu-west-1", "actions": ACTIONS, "resource": RESOURCE}
HTTPS = {"pattern": "*", "url": "https://a"}
ALL = {
    **{"pattern": "orders-*", "lingerSeconds": 0.5, "maxDelaySeconds": 3, "maxSize": 50, "shards": 2},
    **{"rate": 2.5, "burst": 3, "isolation": "halves", "maxAttempts": 4, "inPlace": 1},
}
UNKNOWN = [f"unknown{number:02d}" for number in range(12)]


def seconds(number):
    return timedelta(seconds=number)


def policy(**row):
    return policies_of([{"pattern": "*", **row}]).of("any")


def test_every_setting_of_a_policy_is_read():
    read = Policy(seconds(0.5), seconds(3), 50, 2, 2.5, 3, Isolation.HALVES, 4, 1)

    assert policies_of([ALL]).of("orders-eu") == read
    assert policies_of([ALL]).of("mails") == policies_of([]).of("any") == Policy()
    assert policy(lingerSeconds=7).max_delay == seconds(7)
    assert policy(lingerSeconds=4, maxDelaySeconds=4).linger == seconds(4)


def test_the_first_pattern_that_fits_decides():
    rows = [{"pattern": "a*", "maxSize": 1}, {"pattern": "*", "maxSize": 2}]

    assert [policies_of(rows).of(name).max_size for name in ("ab", "b")] == [1, 2]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        *(({"pattern": each}, "each entry needs a pattern of target names") for each in (None, "", 5, ["*"])),
        (dict.fromkeys(reversed(UNKNOWN), 1), f"unknown setting of a target: {', '.join(UNKNOWN)}"),
        *(({"maxSize": each}, "maxSize must be a whole number") for each in ("5", True, 5.0)),
        *(({"rate": each}, "rate must be a number") for each in ("fast", float("inf"), 1e6, -1e6)),
        ({"lingerSeconds": 1e300}, "lingerSeconds must be a number"),
        *(({"isolation": each}, "isolation must be solo or halves") for each in ("none", ["solo"])),
        ({"shards": None}, "shards must be a whole number"),
        ({"lingerSeconds": 4, "maxDelaySeconds": 3.999}, "lingerSeconds and maxDelaySeconds must keep"),
        ({"callTimeoutSeconds": 0}, "callTimeoutSeconds is 0"),
        ({"callTimeoutSeconds": 31}, "is 31; it must be more than 0 and at most 30, half of"),
        ({"callLeaseSeconds": 20, "callTimeoutSeconds": 11}, "at most 10, half of callLeaseSeconds"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_any_other_form_of_a_policy_is_refused_with_the_entry_and_the_setting(change, reason):
    with pytest.raises(InvalidRequest, match=f"^entry 2: .*{re.escape(reason)}") as refused:
        policies_of([ALL, ALL | change])

    assert refused.value.field in {*change, "maxDelay", UNKNOWN[0]}


BOUNDS = [
    ("maxSize", 1, 1000, 1),
    ("shards", 1, 64, 1),
    ("burst", 1, 1000, 1),
    ("maxAttempts", 1, 100, 1),
    ("inPlace", 0, 10, 1),
    ("rate", 0.001, 100_000, 0.0005),
    ("lingerSeconds", 0, 900, 0.5),
    ("maxDelaySeconds", 1, 900, 0.5),
    ("leaseSeconds", 5, 300, 0.5),
    ("callLeaseSeconds", 5, 840, 0.5),
    ("callTimeoutSeconds", 0.000001, 420, 0.000001),
]
"""The least value, the largest, and the step to the first that is refused."""


@pytest.mark.parametrize(("name", "least", "most", "step"), BOUNDS)
def test_a_setting_is_accepted_up_to_its_bounds_and_refused_beyond(name, least, most, step):
    wide = {"maxDelaySeconds": 900, "callLeaseSeconds": 840}
    for value in (least, most):
        policy(**wide | {name: value})
    for value in (least - step, most + step):
        with pytest.raises(InvalidRequest):
            policy(**wide | {name: value})


def defaults():
    """The column "default" of the table of settings, a value for each name."""
    rows = re.findall(r"^- (`\w+`(?:, `\w+`)?) \(([^)]*)\): ", PAGE.read_text(), re.MULTILINE)
    for names, texts in rows:
        yield from zip(re.findall(r"`(\w+)`", names), texts.split(", "), strict=False)


def test_the_defaults_are_those_of_the_docs():
    given = {
        name: int(text) if text.isdecimal() else text.strip("`")
        for name, text in defaults()
        if name in {each for each, *_ in BOUNDS} - {"rate", "callTimeoutSeconds"}
    }
    (api,) = endpoints_of([HTTPS | {"secret": SECRET}])

    assert len(given) == len(BOUNDS) - 2
    assert policy(**given) == policy() == Policy(rate=None, call_timeout=None)
    assert (api.timeout, Endpoint("*", "https://a").timeout, api.secret.refresh) == (10, 10, 900)


def test_a_task_is_kept_for_14_days_and_for_7_after_its_end(make_bench):
    bench = make_bench(timing=Timing())
    (task,) = bench.register("a")
    pending = task.expires_at - task.created_at
    bench.drain()

    assert pending == timedelta(days=14)
    assert bench.task("a").expires_at == bench.clock.at + timedelta(days=7)


def test_every_kind_of_a_batch_api_is_read():
    rows = [
        {**HTTPS, "secret": SECRET, "secretKey": KEY, "secretSeconds": 60},
        {**HTTPS, "signing": SIGNING},
        {"pattern": "*", "function": f"{FUNCTION}:live", "timeoutSeconds": 25},
        {"pattern": "a", "url": "http://b"},
    ]

    assert endpoints_of(rows) == (
        Endpoint("*", "https://a", secret=Secret(SECRET, KEY, 60.0)),
        Endpoint("*", "https://a", signing=Signing("execute-api", "eu-west-1", tuple(ACTIONS), RESOURCE)),
        Endpoint("*", timeout=25.0, function=f"{FUNCTION}:live"),
        Endpoint("a", "http://b", 10.0),
    )


@pytest.mark.parametrize(
    "row",
    [
        *({"timeoutSeconds": each} for each in (0.001, 420)),
        *({"secret": SECRET, "secretSeconds": each} for each in (1, 86_400)),
        *({"url": each} for each in ("https://a:1/", "https://a:65535/", "https://[::1]:8080/b?c=d")),
        *({"url": f"http://{host}/", "secret": SECRET} for host in ("127.0.0.1:9000", "localhost")),
    ],
    ids=str,
)
def test_a_batch_api_is_accepted_up_to_its_bounds(row):
    assert endpoints_of([HTTPS | row])


URLS = ["ftp://a", "https://", "http://[::1", "https://a:99999/", "https://a:0/", "https:///batch", "a"]
URLS += ["https://:443/", "https://a b/", "https://a/\n", "https://a/#b", "https://a/\u00e9"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"url": None}, "url must be a text"),
        ({"function": FUNCTION}, "either a url or a function"),
        *(({"url": each}, "must be an http") for each in URLS),
        *(({"timeoutSeconds": each}, "more than 0 and at most 420") for each in (-1, 0, 420.001)),
        *(({"secret": each}, "its six last") for each in (SECRET[:-7], SECRET[:-6] + "?" * 6)),
        ({"secret": 5}, "secret must be a text"),
        ({"secretKey": KEY}, "need a secret"),
        ({"secret": SECRET, "secretKey": "*"}, "the ARN of a KMS key"),
        *(({"secret": SECRET, "secretSeconds": n}, "must be 1 to 86400") for n in (0, 0.999, 86_401)),
        ({"url": "http://a", "secret": SECRET}, "over https only"),
        ({"url": "http://a", "signing": SIGNING}, "over https only"),
        ({"signing": "execute-api"}, "signing takes an object"),
        *(({"signing": SIGNING | {"actions": n}}, "a list of IAM actions") for n in ([5], "x:Y", None)),
        ({"signing": SIGNING | {"actions": []}}, "at least one IAM action"),
        ({"signing": SIGNING | {"actions": ["execute-api:*"]}}, "without wildcards"),
        *(({"signing": SIGNING | {"resource": n}}, "without wildcards") for n in ("*", RESOURCE + "/*")),
        ({"signing": SIGNING | {"region": ""}}, "the name of an AWS region"),
        *(({"signing": SIGNING | {"service": n}}, "name of an AWS service") for n in ("", "a_b", "a" * 65)),
        ({"signing": SIGNING | {"role": "x"}}, "unknown setting"),
        ({"headers": {"Authorization": "x"}}, "unknown setting"),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_any_other_form_of_a_batch_api_is_refused_with_a_reason(row, reason):
    with pytest.raises(InvalidRequest, match=f"^entry 1: .*{re.escape(reason)}"):
        endpoints_of([HTTPS | row])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"function": "batch"}, "ARN of a Lambda function"),
        ({"function": FUNCTION + "*"}, "ARN of a Lambda function"),
        ({"function": FUNCTION, "secret": SECRET}, "takes no url, secret or signing"),
        ({"function": FUNCTION, "signing": SIGNING}, "takes no url, secret or signing"),
        ({}, "either a url or a function"),
    ],
)
def test_any_other_form_of_a_function_is_refused(row, reason):
    with pytest.raises(InvalidRequest, match=reason) as refused:
        endpoints_of([{"pattern": "*", **row}])

    assert refused.value.field in {"function", "url"}
    with pytest.raises(InvalidRequest, match="takes no url"):
        Endpoint("*", "https://a", function=FUNCTION)


def test_a_url_with_a_password_is_refused_without_it():
    with pytest.raises(InvalidRequest, match="put credentials into a secret") as refused:
        endpoints_of([{"pattern": "*", "url": "https://user:pa55word@a/"}])

    assert "pa55word" not in str(refused.value)


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
        ("a" * 1100 + "*", "a" * 1099 + "?b", True),
    ],
    ids=lambda value: str(value)[:20],
)
def test_two_patterns_overlap_if_one_target_matches_both(one, other, both):
    assert overlap(one, other) == overlap(other, one) == both


def target(template, payload):
    return TargetTemplate.parse(template)(NewTask(payload))


@pytest.mark.parametrize(
    ("template", "payload", "expected"),
    [
        ("{customer}/{region}", {"customer": "acme", "region": "eu"}, "acme/eu"),
        ("orders-{region}", {"region": "eu", "other": None}, "orders-eu"),
        ("{order.customer.id}/x", {"order": {"customer": {"id": 17}}}, "17/x"),
        ("{a}", {"a": "x" * 128}, "x" * 128),
    ],
)
def test_fields_of_the_payload_are_the_target(template, payload, expected):
    assert target(template, payload) == expected


@pytest.mark.parametrize(
    ("payload", "reason", "field"),
    [
        ({"customer": "acme"}, "the payload has no field region", "payload.region"),
        ({"customer": "acme", "region": None}, "the field region of the payload", "payload.region"),
        ({"customer": "acme", "region": 1.5}, "the field region of the payload", "payload.region"),
        ({"customer": True, "region": "eu"}, "the field customer of the payload", "payload.customer"),
        ({"customer": "", "region": "eu"}, "the field customer of the payload", "payload.customer"),
        ({"customer": "é", "region": "eu"}, "the field customer of the payload", "payload.customer"),
        ({"customer": "a", "region": "b" * 513}, "the field region of the payload", "payload.region"),
        ({"customer": "a/b", "region": "eu"}, "the field customer of the payload", "payload.customer"),
        ({"customer": "a#b", "region": "eu"}, "the field customer of the payload", "payload.customer"),
        ({"customer": {"id": 1}, "region": "eu"}, "the field customer of the payload", "payload.customer"),
        ({"customer": "-a", "region": "eu"}, "which is no valid target", None),
        ({"customer": "a" * 127, "region": "eu"}, "which is no valid target", None),
        ([1], "the payload has no field customer", "payload.customer"),
        ("text", "the payload has no field customer", "payload.customer"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_a_payload_without_a_target_is_refused_with_the_field(payload, reason, field):
    with pytest.raises(NoTarget, match=reason) as raised:
        target("{customer}/{region}", payload)

    assert raised.value.field == field


@pytest.mark.parametrize(
    "template",
    [
        *("", "orders", "{}", "{a b}", "{a", "a}", "{a}{b}", "{a}-{b}", "{a}#{b}", "{a.}", "{0}", "{a!r}"),
        *("{a:>10}", "{a[0]}", "{a}/{b}\n", "{a}/" + "x" * 300),
    ],
)
def test_a_template_of_another_form_is_refused(template):
    with pytest.raises(InvalidRequest, match="template of targets"):
        TargetTemplate.parse(template)


VALUES = st.text("ab.-", min_size=1, max_size=4).filter(lambda text: text[0] not in ".-")


@given(VALUES, VALUES, VALUES, VALUES)
def test_different_fields_have_different_targets(a, b, c, d):
    one, other = target("{x}/{y}", {"x": a, "y": b}), target("{x}/{y}", {"x": c, "y": d})

    assert (one == other) == ((a, b) == (c, d))


def test_a_repeated_task_is_the_same_under_another_template():
    bench = Bench(target_of=TargetTemplate.parse("a-{n}"))
    first = bench.grouper.register(TENANT, NewTask({"n": 1}, task_id="a"))
    bench = Bench(target_of=TargetTemplate.parse("b-{n}"))
    bench.store.write_task(first)

    assert bench.grouper.register(TENANT, NewTask({"n": 1}, task_id="a")) == first
    with pytest.raises(KeyReused):
        bench.grouper.register(TENANT, NewTask({"n": 1}, "b-1", "a"))


DIGITS = 127


def test_a_template_has_up_to_256_characters():
    longest = "{a}/".ljust(256, "x")

    assert TargetTemplate.parse(longest).fields == ("a",)
    with pytest.raises(InvalidRequest, match="the template of targets"):
        TargetTemplate.parse(longest + "x")


def test_a_number_has_up_to_127_digits():
    of = TargetTemplate.parse("{a}")

    assert of(NewTask({"a": 10**DIGITS - 1})) == "9" * DIGITS
    with pytest.raises(NoTarget, match="the field a of the payload is a part of the target"):
        of(NewTask({"a": 10**DIGITS}))
