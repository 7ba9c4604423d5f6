"""The thresholds that a live batch has reached, each with the number of its stall."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.page import Page
from fanin.tracker.writing.sweeping import reached_by
from tests.tracker.calls import START
from tests.tracker.stored import ASKS, BATCH, MINUTE, STUCK, TICK


@pytest.mark.parametrize("batch", [BATCH, STUCK, ASKS])
def test_a_batch_that_reached_no_threshold_has_an_empty_list(batch):
    assert reached_by(MemoryStore(), batch, START + 9 * MINUTE - TICK) == []


@pytest.mark.parametrize("stalls", [0, 2])
def test_a_stall_has_the_next_number_and_other_thresholds_have_none(stalls):
    store = MemoryStore()
    store.stored_pages = {PageKey(ASKS.key, 0, number): Page(0b1111, 4) for number in range(2)}
    store.stored_pages[PageKey(ASKS.key, 1, 0)] = Page(0b11, 2)
    batch = replace(ASKS, failed=1, stuck_after=8 * MINUTE, stalls=stalls)
    found = reached_by(store, batch, START + 9 * MINUTE)

    assert [(each.threshold, each.stall) for each in found] == [
        (Threshold.FIRST_FAILURE, 0),
        (Threshold.STUCK, stalls + 1),
        (Threshold.HALF, 0),
    ]
