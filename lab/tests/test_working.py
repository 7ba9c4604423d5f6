"""Each worker that is measured takes all messages, and acks their items with as many requests as it says."""

from __future__ import annotations

import pytest

from lab.working.__main__ import measured
from lab.working.ways import ALONE, NO_ACK, TOGETHER, WAYS


@pytest.mark.parametrize("way", WAYS)
def test_all_messages_are_acked_and_deleted(way: str) -> None:
    found = measured(way, 40, 0)

    assert found.rate > 0
    assert int(found.acks) == {NO_ACK: 0, ALONE: 40, TOGETHER: 4}.get(way, int(found.acks)) <= 40
