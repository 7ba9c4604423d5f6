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
