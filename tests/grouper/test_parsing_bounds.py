"""The bounds of the numbers in a deployment's JSON, and the errors that name what is wrong."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest
from fanin.grouper.settings.parsing import endpoints_of, number_in, policies_of

UNKNOWN = [f"unknown{number:02d}" for number in range(12)]
SIGNING = {"service": "execute-api", "region": "eu-west-1", "resource": "arn:aws:execute-api:x"}


def refused(parse, row):
    with pytest.raises(InvalidRequest) as caught:
        parse([row])
    return caught.value


@pytest.mark.parametrize("pattern", [5, True, ["*"], {"a": 1}])
@pytest.mark.parametrize(
    ("parse", "row"), [(policies_of, {}), (endpoints_of, {"url": "https://a"})], ids=["policy", "batch API"]
)
def test_a_pattern_that_is_no_text_is_refused(parse, row, pattern):
    error = refused(parse, row | {"pattern": pattern})

    assert str(error).startswith("entry 1: each entry needs a pattern of target names")
    assert error.field == "pattern"


@pytest.mark.parametrize("actions", [[5], ["execute-api:Invoke", None], "execute-api:Invoke", None])
def test_the_actions_of_a_signature_are_texts(actions):
    row = {"pattern": "*", "url": "https://a", "signing": SIGNING | {"actions": actions}}
    error = refused(endpoints_of, row)

    assert (str(error), error.field) == ("entry 1: actions takes a list of IAM actions", "actions")


def test_unknown_settings_are_named_in_order():
    error = refused(policies_of, {"pattern": "*"} | dict.fromkeys(reversed(UNKNOWN), 1))

    assert str(error) == f"entry 1: unknown setting of a target: {', '.join(UNKNOWN)}"
    assert error.field == UNKNOWN[0]


@pytest.mark.parametrize("value", [-999_999.5, -999_999, 0, 999_999, 999_999.5])
def test_a_number_below_a_million_is_read_as_it_is(value):
    assert number_in("rate", value) == value


@pytest.mark.parametrize("value", [-1_000_000, 1_000_000, -1e6, 1e6, float("nan"), float("inf"), True, "1"])
def test_a_number_of_a_million_or_more_is_refused(value):
    with pytest.raises(InvalidRequest, match=r"^rate must be a number$") as caught:
        number_in("rate", value)

    assert caught.value.field == "rate"
