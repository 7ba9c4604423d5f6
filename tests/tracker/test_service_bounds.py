"""The bounds of the tracker's writes, at their last value and beyond it, and what a new batch is made of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import InvalidRequest, QuotaExceeded, StoreUnavailable
from fanin.tracker import COUNT_MAX, Ack, OpenBatch, State, Tracker, Verdict
from fanin.tracker.memory import MemoryStore
from tests.tracker.calls import ack, opened

TRIES = 10
MILLION = 1_000_000
LEVELS = 16


class Contended(MemoryStore):
    """Refuses the first reservations, as those of others do that come first."""

    refusals = 0

    def reserve(self, seen, receipt, group):
        self.refusals -= 1
        return None if self.refusals >= 0 else super().reserve(seen, receipt, group)


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def contended(clock, pauses):
    return Tracker(Contended(), page_bits=4, now=clock, pause=pauses.append)


def test_an_add_that_is_refused_ten_times_is_to_be_repeated(contended):
    batch_id, _ = opened(contended)
    contended.store.refusals = TRIES

    with pytest.raises(StoreUnavailable, match="too many concurrent adds"):
        contended.add("t", batch_id, 3)
    assert contended.get("t", batch_id).total == 0


def test_a_batch_holds_2_to_the_40_items_and_no_more(tracker):
    batch_id, _ = opened(tracker)
    totals = [tracker.add("t", batch_id, COUNT_MAX).total for _ in range(16)]
    assert totals[-1] == 2**40

    with pytest.raises(InvalidRequest, match="at most 1099511627776 items") as caught:
        tracker.add("t", batch_id, 1)
    assert caught.value.field == "count"
    assert tracker.get("t", batch_id).total == 2**40


def test_a_million_items_are_acked_by_one_request_and_not_one_more(clock):
    tracker = Tracker(MemoryStore(), now=clock)
    batch_id, group = opened(tracker, MILLION + 1)
    with pytest.raises(InvalidRequest, match="at most 1000000 items") as caught:
        tracker.ack("t", [Ack(batch_id, group, 0, MILLION, "me")])
    assert caught.value.field == "acks"
    assert not tracker.store.stored_pages

    (result,) = tracker.ack("t", [Ack(batch_id, group, 0, MILLION - 1, "me")]).results
    assert result.counts == {Verdict.ACCEPTED: MILLION}


def test_one_request_ends_sixteen_batches_above_the_one_that_it_acks(tracker):
    chain = [opened(tracker, 1)]
    for _ in range(LEVELS + 1):
        batch_id, group = chain[-1]
        chain.append(opened(tracker, 1, parent_item_id=f"{batch_id}:{group}:0"))
    for batch_id, _ in chain:
        tracker.close("t", batch_id, "closer")
    ack(tracker, *chain[-1], 0)
    states = [tracker.get("t", batch_id).state for batch_id, _ in chain]

    assert states == [State.CLOSED] + [State.COMPLETE] * (LEVELS + 1)


def test_a_batch_that_is_not_admitted_is_not_stored(tracker):
    asked = []

    def admit(tenant, batch_id):
        asked.append((tenant, batch_id))
        raise QuotaExceeded("no more batches", quota="open batches", limit=1, used=1)

    with pytest.raises(QuotaExceeded):
        replace(tracker, admit=admit).open("t", OpenBatch())
    ((tenant, batch_id),) = asked
    assert (tenant, len(batch_id)) == ("t", 36)
    assert not tracker.store.batches


@pytest.mark.parametrize("ask", ["outstanding", "failures"])
def test_a_batch_without_items_has_no_ranges(tracker, ask):
    found = getattr(tracker, ask)(tracker.open("t", OpenBatch()))

    assert (found.ranges, found.resume) == ((), None)
