"""Which reasons are kept, which are removed with their failures, and how many one request offers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.tracker import BatchKey, Outcome, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads.sampling import slots_of
from tests.tracker.calls import DAY, START, ack, fail, opened


class Offered(MemoryStore):
    """Notes the items whose reasons are offered, with the slots that are tried, and those that are freed."""

    def __init__(self):
        super().__init__()
        self.offered, self.freed = [], []

    def sample(self, key, slot, sample, expires_at):
        self.offered.append((index_of(sample.item_id), slot))
        return super().sample(key, slot, sample, expires_at)

    def free_sample(self, key, slot, item_id):
        self.freed.append(index_of(item_id))
        return super().free_sample(key, slot, item_id)


def index_of(item_id):
    return int(item_id.rpartition(":")[2])


@pytest.fixture
def tracker(clock):
    return Tracker(Offered(), page_bits=4, fresh_for=timedelta(0), now=clock, pause=lambda _: None)


@pytest.mark.parametrize(("outcome", "reason"), [(Outcome.FAILURE, None), (Outcome.SUCCESS, "by hand")])
def test_an_ack_without_a_reason_or_a_failure_offers_none(tracker, outcome, reason):
    batch_id, group = opened(tracker, 4)
    ack(tracker, batch_id, group, 0, 1, outcome=outcome, reason=reason)

    assert tracker.store.offered == []


def blocked(tracker, batch_id, slots):
    for slot in slots:
        tracker.store.block_samples(BatchKey("t", batch_id), [slot], START + DAY)


def test_a_reason_is_not_kept_once_its_slot_is_blocked(tracker):
    """The batch is being deleted: the failure counts, and no other slot is tried."""
    batch_id, group = opened(tracker, 4)
    first, *_ = slots = slots_of(f"{batch_id}:{group}:2")
    blocked(tracker, batch_id, slots)
    report = fail(tracker, batch_id, group, 2)

    assert [result.verdict for result in report.results] == ["accepted"]
    assert tracker.store.offered == [(2, first)]
    assert tracker.samples(tracker.get("t", batch_id)) == []


@pytest.mark.parametrize(
    ("item", "slots"),
    [("item", [77, 78, 79, 80]), ("another", [72, 73, 74, 75]), ("item-666", [126, 127, 0, 1])],
)
def test_the_slots_of_an_item_are_those_of_the_rows_that_are_stored(item, slots):
    assert slots_of(item) == slots
