"""An open whose idempotency key others use meanwhile: it is tried again, and not without end."""

from __future__ import annotations

import pytest

from fanin.errors import StoreUnavailable
from fanin.tracker.writing.opening import under_key
from tests.tracker.stored import BATCH, ID


class Raced:
    """Creates a batch whose key others take first, *lost* times, with batches that are over by then."""

    def __init__(self, lost):
        self.lost, self.over = lost, []

    def create(self, over):
        self.over.append(over)
        return BATCH, f"theirs {len(self.over)}" if len(self.over) <= self.lost else ID


@pytest.mark.parametrize("lost", [0, 1, 9])
def test_an_open_has_ten_attempts_to_take_its_key(lost):
    race = Raced(lost)

    assert under_key(None, lambda _: None, race.create) == (BATCH, True)
    assert race.over == [None, *(f"theirs {number}" for number in range(1, lost + 1))]


def test_after_ten_attempts_the_caller_is_asked_to_repeat_the_request():
    race = Raced(10)
    with pytest.raises(StoreUnavailable, match="repeat the request"):
        under_key(None, lambda _: None, race.create)

    assert len(race.over) == 10
