"""Which reasons are kept, which are removed with their failures, and how many one request offers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.tracker import Ack, BatchKey, Outcome, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads.sampling import slots_of
from fanin.tracker.rules.model import Sample, is_reason
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


def distinct(indexes):
    return sorted(set(indexes))


@pytest.fixture
def tracker(clock):
    return Tracker(Offered(), page_bits=4, fresh_for=timedelta(0), now=clock, pause=lambda _: None)


@pytest.mark.parametrize("length", [1, 2, 512])
def test_a_reason_has_1_to_512_characters(length):
    assert is_reason("x" * length)


@pytest.mark.parametrize("items", [64, 65, 70])
def test_a_request_offers_64_reasons(tracker, items):
    fail(tracker, *opened(tracker, 100), *range(items))

    assert distinct(index for index, _ in tracker.store.offered) == list(range(64))


@pytest.mark.parametrize("items", [64, 65, 70])
def test_a_request_removes_64_reasons(tracker, items):
    batch_id, group = opened(tracker, 100)
    fail(tracker, batch_id, group, *range(items))
    tracker.ack("t", [Ack(batch_id, group, 0, items - 1, "me")])

    assert distinct(tracker.store.freed) == list(range(64))


def test_an_item_that_two_acks_of_a_request_heal_counts_once(clock):
    """All 80 items are in one page."""
    tracker = Tracker(Offered(), page_bits=128, now=clock, pause=lambda _: None)
    batch_id, group = opened(tracker, 80)
    fail(tracker, batch_id, group, *range(80))
    tracker.ack("t", [Ack(batch_id, group, 0, 39, "me"), Ack(batch_id, group, 0, 79, "me")])

    assert tracker.get("t", batch_id).failed == 0
    assert distinct(tracker.store.freed) == list(range(64))


def test_the_reason_of_the_healed_item_is_removed_in_whichever_page_it_is(tracker):
    batch_id, group = opened(tracker, 20)
    fail(tracker, batch_id, group, 0, 1, 6, 19)
    ack(tracker, batch_id, group, 6, 19)

    kept = tracker.store.samples(BatchKey("t", batch_id))
    assert distinct(index_of(sample.item_id) for sample in kept) == [0, 1]
    assert distinct(tracker.store.freed) == [6, 19]


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


@pytest.mark.parametrize("taken", [0, 1, 3, 4])
def test_the_four_slots_of_an_item_are_tried_in_turn(tracker, taken):
    batch_id, group = opened(tracker, 4)
    slots = slots_of(f"{batch_id}:{group}:2")
    another = Sample(f"{batch_id}:{group}:3", "first", START)
    for slot in slots[:taken]:
        tracker.store.kept[BatchKey("t", batch_id), slot] = another
    fail(tracker, batch_id, group, 2)

    assert tracker.store.offered == [(2, slot) for slot in slots[: taken + 1]]
    assert [sample.reason for sample in tracker.samples(tracker.get("t", batch_id))] == ["boom"] * (taken < 4)


@pytest.mark.parametrize(
    ("item", "slots"),
    [("item", [77, 78, 79, 80]), ("another", [72, 73, 74, 75]), ("item-666", [126, 127, 0, 1])],
)
def test_the_slots_of_an_item_are_those_of_the_rows_that_are_stored(item, slots):
    assert slots_of(item) == slots


def test_a_batch_has_128_slots():
    found = {slot for number in range(2_000) for slot in slots_of(f"item-{number}")}

    assert found == set(range(128))
