"""The use cases, one after another; what happens at once is the simulator's and the races' business."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.tracker import COUNT_MAX, Ack, OpenBatch, Tracker, Verdict
from fanin.tracker.memory import MemoryStore
from fanin.tracker.service import RANGE_MAX
from tests.scripted import Scripted
from tests.tracker.calls import verdicts


def opened(tracker, count=0, tenant="t"):
    batch = tracker.open(tenant, OpenBatch())
    group = tracker.add(tenant, batch.batch_id, count).groups[0] if count else None
    return batch.batch_id, [f"{batch.batch_id}:{group.id}:{i}" for i in range(count)] if group else []


def ack(tracker, items, caller="me", tenant="t"):
    return tracker.ack(tenant, [Ack.of(item, caller) for item in items])


SIZES = [(p, total) for p in (2, 4, 7) for total in (0, 1, 63, 64, 65, p - 1, p, p + 1, p * p + 1)]
SIZES += [(1024, total) for total in (0, 1, 63, 64, 65, 1023, 1024, 1025)]


@pytest.mark.parametrize(("page_bits", "total"), SIZES)
@pytest.mark.parametrize("order", ["close first", "close last"])
def test_a_batch_of_any_size_completes_exactly_once(page_bits, total, order):
    tracker = Tracker(MemoryStore(), page_bits=page_bits)
    batch_id, items = opened(tracker, total)
    random.Random(total).shuffle(items)
    reported = tracker.close("t", batch_id, "closer").completed_by_caller if order == "close first" else 0
    reported += sum(len(ack(tracker, [item], caller=item).completions) for item in items)
    reported += tracker.close("t", batch_id, "closer").completed_by_caller if order == "close last" else 0

    assert reported == 1
    assert tracker.get("t", batch_id).result == "succeeded"


def test_the_last_of_a_billion_items_is_acked_by_one_write_and_one_more_for_the_first_of_its_million():
    tracker = Tracker(Scripted(MemoryStore()), pause=lambda _: None)
    batch_id, _ = opened(tracker)
    group = tracker.add("t", batch_id, 10**9).groups[0]
    writes = []
    for index in (10**9 - 1, 10**9 - 2, 999_500_000):
        tracker.store.requests.clear()
        assert verdicts(ack(tracker, [f"{batch_id}:{group.id}:{index}"])) == [Verdict.ACCEPTED]
        writes.append(sum(name != "get" for name in tracker.store.names()))

    assert writes == [2, 1, 1]


def test_the_salt_is_in_no_text_of_a_batch(tracker):
    batch = replace(tracker.open("t", OpenBatch()), salt=b"secret")

    assert "secret" not in repr(batch)


def test_an_add_that_others_precede_ten_times_is_to_be_repeated(tracker, monkeypatch):
    batch_id, _ = opened(tracker)
    monkeypatch.setattr(tracker.store, "reserve", lambda *_: None)

    with pytest.raises(StoreUnavailable, match="too many concurrent adds"):
        tracker.add("t", batch_id, 3)
    assert tracker.get("t", batch_id).total == 0


def test_a_batch_holds_2_to_the_40_items_and_no_more(tracker):
    batch_id, _ = opened(tracker)
    assert [tracker.add("t", batch_id, COUNT_MAX).total for _ in range(16)][-1] == 2**40

    with pytest.raises(InvalidRequest) as caught:
        tracker.add("t", batch_id, 1)
    assert caught.value.field == "count"
    assert tracker.get("t", batch_id).total == 2**40


@pytest.mark.parametrize("count", [0, -1, COUNT_MAX + 1])
def test_an_add_of_no_item_or_too_many_is_refused(tracker, count):
    batch_id, _ = opened(tracker)

    with pytest.raises(InvalidRequest, match="count goes from 1"):
        tracker.add("t", batch_id, count)
    assert tracker.get("t", batch_id).total == 0


def test_a_notified_end_is_sent_again(tracker):
    batch_id, _ = opened(tracker)
    tracker.close("t", batch_id, "me")
    before = set(tracker.store.notices)
    ended = tracker.notify("t", batch_id)

    assert {key for key, _ in tracker.store.notices - before} == {ended.key}


def test_a_million_items_are_acked_by_one_request_and_not_one_more():
    tracker = Tracker(MemoryStore())
    batch_id, _ = opened(tracker)
    group = tracker.add("t", batch_id, RANGE_MAX + 1).groups[0].id
    with pytest.raises(InvalidRequest) as caught:
        tracker.ack("t", [Ack(batch_id, group, 0, RANGE_MAX, "me")])
    assert caught.value.field == "acks"
    assert not tracker.store.stored_pages

    (result,) = tracker.ack("t", [Ack(batch_id, group, 0, RANGE_MAX - 1, "me")]).results
    assert result.counts == {Verdict.ACCEPTED: 1_000_000}
