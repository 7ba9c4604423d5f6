"""JSON objects are read as the values of the client, and a malformed one is refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from fanin.client.wire.codec import value_of
from fanin.tracker import Mode


@dataclass(frozen=True)
class Inner:
    at: datetime


@dataclass(frozen=True)
class Outer:
    batch_id: str
    mode: Mode
    stuck_after: timedelta | None
    parts: tuple[Inner, ...]
    count: int = 3


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DOCUMENT = {"batchId": "b", "mode": "exact", "stuckAfterSeconds": 90, "parts": [{"at": NOON.isoformat()}]}
VALUE = Outer("b", Mode.EXACT, timedelta(seconds=90), (Inner(NOON),))


def test_a_field_is_read_by_its_type():
    assert value_of(Outer, DOCUMENT | {"new": 1}) == VALUE
    assert value_of(Outer, DOCUMENT | {"count": 0}) == Outer(
        "b", Mode.EXACT, timedelta(seconds=90), (Inner(NOON),), 0
    )


@pytest.mark.parametrize(
    "wrong", [{"batchId": None}, {"mode": "rough"}, {"parts": [{}]}, {"parts": 5}, {"parts": [{"at": "x"}]}]
)
def test_a_malformed_object_is_refused(wrong):
    with pytest.raises((KeyError, ValueError, TypeError)):
        value_of(Outer, DOCUMENT | wrong)
