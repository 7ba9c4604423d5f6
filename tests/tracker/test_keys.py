"""What the idempotency key of an open stands for."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from fanin.errors import InvalidRequest, KeyReused
from fanin.tracker import OpenBatch, Retention
from tests.tracker.calls import DAY, HOUR, opened


def test_a_repeated_open_is_answered_when_its_parent_is_gone(tracker, clock):
    """Only a new batch needs a parent that is there."""
    parent, group = opened(tracker, 1, retention=Retention(open=HOUR))
    spec = OpenBatch(parent_item_id=f"{parent}:{group}:0", deadline=DAY)
    child = tracker.open("t", spec, key="retried")
    clock.at += 2 * HOUR

    assert tracker.open("t", spec, key="retried") == child
    with pytest.raises(KeyReused, match=r"\(user key\)"):
        tracker.open("t", replace(spec, user_key="other"), key="retried")
    with pytest.raises(InvalidRequest, match="is of a batch that has expired"):
        tracker.open("t", spec, key="another")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, ""),
        (
            {"max_failures": 3, "user_key": "a", "deadline": HOUR, "expected_items": 0},
            "user_key='a', expected_items=0, max_failures=3, deadline=datetime.timedelta(seconds=3600)",
        ),
    ],
)
def test_a_fingerprint_is_of_the_options_that_are_given(tracker, options, said):
    """So it stays the same in a release that has another option."""
    digest = sha256(f"OpenBatch({said})".encode()).hexdigest()

    assert tracker.open("t", OpenBatch(**options)).fingerprint == digest
