"""The longest template and the largest number of a target, and payloads without fields."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest, NoTarget
from fanin.grouper import NewTask
from fanin.grouper.settings.targeting import TargetTemplate

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


@pytest.mark.parametrize("payload", [None, 5, True, "a customer", ["customer"]], ids=str)
@pytest.mark.parametrize("path", ["customer", "order.customer"])
def test_a_payload_that_is_no_object_has_no_field(payload, path):
    inner = payload if path == "customer" else {"order": payload}
    with pytest.raises(NoTarget, match=f"the payload has no field {path}") as raised:
        TargetTemplate.parse(f"{{{path}}}")(NewTask(inner))

    assert raised.value.field == f"payload.{path}"
