"""Reasons are one line that the API and the store accept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.api.requests.batch_requests import CancelBatchBody
from fanin.client.argument_checks.reasons import fitting, reason_of
from fanin.tracker.rules.model import REASON_MAX


@given(st.text(st.characters()))
def test_whatever_is_said_fits_the_api(text):
    reason = fitting(text)

    assert reason is None or CancelBatchBody(reason=reason).reason == reason
    assert reason is None or (len(reason) <= REASON_MAX and "\ufffd" not in reason)
    assert reason is None or reason.encode()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", None),
        (" \n\t", None),
        ("a\nb\r\n  c", "a b c"),
        ("a\ud800b", "a b"),
        ("\x1b[31mred", "[31mred"),
        ("x" * 512, "x" * 512),
        ("x" * 513, "x" * 511 + "…"),
        ("böse 🎈", "böse 🎈"),
    ],
)
def test_a_reason_is_one_bounded_line(text, reason):
    assert fitting(text) == reason


def test_an_error_says_its_kind():
    assert reason_of(ValueError("no\nway")) == "ValueError: no way"
    assert reason_of(KeyError()) == "KeyError:"
