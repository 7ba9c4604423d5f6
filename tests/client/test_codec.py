"""JSON objects are read as the values of the client, and a malformed one is refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from fanin.client.wire.codec import value_of, written
from fanin.tracker import Mode, Retention


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


@pytest.mark.parametrize("absent", [{}, {"stuckAfterSeconds": None}])
def test_a_field_that_may_be_none_or_has_a_default_may_be_absent(absent):
    found = value_of(Outer, {"batchId": "b", "mode": "exact", "parts": []} | absent)

    assert (found.stuck_after, found.count) == (None, 3)


@pytest.mark.parametrize(
    "wrong", [{"batchId": None}, {"mode": "rough"}, {"parts": [{}]}, {"parts": 5}, {"parts": [{"at": "x"}]}]
)
def test_a_malformed_object_is_refused(wrong):
    with pytest.raises((KeyError, ValueError, TypeError)):
        value_of(Outer, DOCUMENT | wrong)


def test_a_given_field_is_not_read():
    assert value_of(Outer, DOCUMENT | {"batchId": None}, batch_id="b") == VALUE


def test_times_are_written_as_texts_and_durations_in_seconds():
    assert written(NOON) == "2026-03-01T12:00:00+00:00"
    assert written(Retention())["closed"] == 14 * 86_400
