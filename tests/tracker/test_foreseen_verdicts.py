"""A dry run of acks answers what the acks would, each by itself, and writes nothing."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest

from fanin import Mode
from fanin.tracker import Ack, ItemRange, Outcome
from tests.tracker.calls import ack, fail, opened

OTHER = "00000000-0000-4000-8000-00000000dead"


def cancel(tracker, batch_id, group):
    tracker.cancel("t", batch_id)


def complete(tracker, batch_id, group):
    tracker.close("t", batch_id, "closer")
    ack(tracker, batch_id, group, 0, 3, 6, 7)


def expire(tracker, batch_id, group):
    tracker.now.at += timedelta(days=30)


STATES = {
    "live": lambda tracker, batch_id, group: None,
    "cancelled": cancel,
    "complete": complete,
    "expired": expire,
}
ITEMS = {
    "outstanding": lambda batch_id, group: (batch_id, group, 0, 0),
    "done": lambda batch_id, group: (batch_id, group, 1, 1),
    "failed": lambda batch_id, group: (batch_id, group, 2, 2),
    "a range": lambda batch_id, group: (batch_id, group, 0, 6),
    "beyond the group": lambda batch_id, group: (batch_id, group, 0, 9),
    "of another batch": lambda batch_id, group: (OTHER, group, 0, 0),
}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(("state", "item", "outcome"), list(product(STATES, ITEMS, Outcome)))
def test_the_verdict_of_a_dry_run_is_that_of_the_ack(tracker, mode, state, item, outcome):
    batch_id, group = opened(tracker, 8, mode=mode)
    ack(tracker, batch_id, group, 1, 4, 5)
    fail(tracker, batch_id, group, 2)
    STATES[state](tracker, batch_id, group)
    asked = [Ack(*ITEMS[item](batch_id, group), "caller", outcome)]
    foreseen = tracker.verdicts("t", asked)

    assert not foreseen.completions
    assert foreseen.results == tracker.ack("t", asked).results


def test_a_dry_run_writes_nothing(tracker):
    batch_id, group = opened(tracker, 8)
    tracker.close("t", batch_id, "closer")
    before = tracker.get("t", batch_id)
    for outcome in Outcome:
        tracker.verdicts("t", [Ack(batch_id, group, 0, 7, "caller", outcome, None)])

    assert tracker.get("t", batch_id) == before
    assert tracker.outstanding(before).ranges == (ItemRange(group, 0, 7),)
