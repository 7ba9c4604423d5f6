"""The caps of a batch: an add that would pass one is refused with a sentence, and changes nothing."""

from __future__ import annotations

import pytest

from fanin.cost.fan_out import most_dollars
from fanin.errors import Conflict, InvalidRequest
from fanin.item_results.memory import MemoryObjects
from fanin.item_results.service import Results
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from tests.tracker.calls import opened


@pytest.mark.parametrize(
    ("cap", "sentence"),
    [
        ({"max_items": 500}, "takes at most 500 items and has 300: 300 more would pass that; add fewer"),
        (
            {"max_cost": most_dollars(500) + 1e-6},
            r"may cost \$0.000375, and 600 cost up to \$0.000448, each sent and acked alone: an add of 300",
        ),
    ],
)
def test_an_add_that_would_pass_a_cap_is_refused_and_changes_nothing(tracker, cap, sentence):
    batch_id, _ = opened(tracker, 300, **cap)
    with pytest.raises(Conflict, match=sentence):
        tracker.add("t", batch_id, 300)

    assert tracker.get("t", batch_id).total == 300
    assert tracker.add("t", batch_id, 200).total == 500


def test_results_count_toward_the_dollars_of_a_batch_that_keeps_them():
    tracker = Tracker(MemoryStore(), results=Results(MemoryObjects()))
    with_results, without = (
        opened(tracker, 1, max_cost=1.0, results=results)[0] for results in (True, False)
    )
    tracker.add("t", without, 1_000_000)

    with pytest.raises(Conflict, match=r"cost up to \$6\.[0-9]+, each sent and acked alone, with a result"):
        tracker.add("t", with_results, 1_000_000)


def test_an_add_that_filled_the_cap_returns_its_items_when_it_is_repeated(tracker):
    batch_id, _ = opened(tracker, max_items=5)
    first = tracker.add("t", batch_id, 5, key="k")

    assert tracker.add("t", batch_id, 5, key="k") == first
    with pytest.raises(Conflict, match="takes at most 5 items"):
        tracker.add("t", batch_id, 5, key="another")


def test_two_adds_that_fit_alone_do_not_pass_the_cap_together(clock):
    class Beside(MemoryStore):
        """Another add comes between the read and the reservation of the first one."""

        def reserve(self, seen, receipt, group):
            if not seen.total and receipt.count == 3:
                tracker.add("t", seen.batch_id, 4)
            return super().reserve(seen, receipt, group)

    tracker = Tracker(Beside(), now=clock, pause=lambda _: None)
    batch_id, _ = opened(tracker, max_items=6)
    with pytest.raises(Conflict, match="has 4: 3 more"):
        tracker.add("t", batch_id, 3)

    assert tracker.get("t", batch_id).total == 4


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"max_items": 4, "expected_items": 5}, "maxItems"),
        ({"max_items": 4, "min_succeeded": 5}, "minSucceeded"),
        ({"failure_sample": 5}, "failureSample"),
        ({"max_cost": 0}, "maxCost"),
        ({"max_cost": True}, "maxCost"),
        ({"max_cost": float("inf")}, "maxCost"),
    ],
)
def test_bounds_that_hold_nothing_are_refused_when_a_batch_is_opened(options, field):
    with pytest.raises(InvalidRequest) as refusal:
        OpenBatch(**options)
    assert refusal.value.field == field
