"""Time to live as the simulators have it."""

from __future__ import annotations

from random import Random

import pytest

from tests.simulating.expiry import EARLY, KINDS, LATE, MIXED, NEVER, TimeToLive


def deletions(kind, seconds=200, rows=50):
    """When each row that expires at 100 is deleted."""
    table = TimeToLive(Random(1), kind, ahead=5.0, late=60.0)
    left = dict.fromkeys(range(rows), 100.0)
    gone = {}
    for now in range(seconds):
        for key in table.due(left, now):
            gone[key] = now
            del left[key]
    assert table.deleted == len(gone)
    return gone


def test_rows_go_early_late_or_never():
    early, late, mixed = (deletions(kind) for kind in (EARLY, LATE, MIXED))

    assert len(early) == len(late) == 50
    assert 95 <= min(early.values()) <= max(early.values()) <= 100
    assert 100 <= min(late.values()) < 120 < max(late.values()) <= 160
    assert deletions(NEVER) == {}
    assert 0 < len(mixed) < 50
    assert min(mixed.values()) <= 100 < max(mixed.values())


def test_a_row_that_is_written_again_is_drawn_anew():
    table = TimeToLive(Random(1), EARLY, ahead=0.0, late=0.0)

    assert table.due({"a": 10.0}, 9.9) == []
    assert table.due({"a": 20.0}, 10.0) == []
    assert table.due({"a": 20.0}, 20.0) == ["a"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_draws_each_kind_and_the_same_each_time(kind):
    assert kind in {TimeToLive.draw(Random(seed), 1.0, 1.0).kind for seed in range(40)}
    assert deletions(kind) == deletions(kind)
