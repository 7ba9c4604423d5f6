"""A fold holds what single acks would set, and hands on every row that sets nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanin.tracker import GroupId, ItemId, Mode, OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from pipeline.bulk_ack import fold
from pipeline.bulk_ack.fold import Folder
from pipeline.bulk_ack.item_columns import ItemIds
from pipeline.bulk_ack.logs import Portion
from pipeline.shared_by_jobs import bitmaps
from tests.pipeline.logs import columns

pytestmark = pytest.mark.usefixtures("way_to_fold")
TENANT = "tenant"
P = bitmaps.BLOCK_BYTES // bitmaps.BLOCK_PAGES * 8


def opened(tracker: Tracker, *counts: int, **options) -> list[str]:
    """The ids of the items of a new batch, group by group."""
    batch = tracker.open(TENANT, OpenBatch(**options))
    groups = [tracker.add(TENANT, batch.batch_id, count).groups[0] for count in counts]
    return [f"{batch.batch_id}:{group.id}:{i}" for group in groups for i in range(group.upto)]


def portion(*rows, lines=()) -> Portion:
    ids, outcome, reason = (pa.array(column, pa.string()) for column in columns(rows).values())
    return Portion(ItemIds(ids), outcome, reason, lines)


def folded(folder: Folder, *portions: Portion) -> dict[str, list]:
    """What comes out, column by column."""
    out = [batch for one in portions for batch in folder.take(one, "log")] + list(folder.blocks())
    rows = pa.Table.from_batches(out, fold.FOLDED)
    return {
        name: [one for one in rows.column(name).to_pylist() if one is not None] for name in rows.column_names
    }


def positions_in(found: dict[str, list], kind: str, page_bits: int = P) -> dict[str, set[int]]:
    """The positions that the blocks hold, by batch."""
    held: dict[str, set[int]] = {}
    for block in found["block"]:
        if block[kind] is not None:
            masks = bitmaps.unpacked(block[kind]).reshape(-1, bitmaps.MASK_BYTES)
            first = block["block"] * bitmaps.BLOCK_PAGES
            pages = range(first, first + bitmaps.BLOCK_PAGES)
            held.setdefault(block["batch_id"], set()).update(
                bitmaps.positions(pages, masks, page_bits).tolist()
            )
    return held


def position(item_id: str) -> int:
    item = ItemId.parse(item_id)
    return GroupId.decode(item.group_id).start + item.index


@pytest.fixture
def tracker():
    return Tracker(MemoryStore())


rows_of_log = st.lists(
    st.tuples(st.integers(0, 39), st.sampled_from([None, "success", "failure", "other", ""])), max_size=60
)


@settings(deadline=None)
@given(st.lists(rows_of_log, max_size=3), st.sampled_from([7, 1024]))
def test_a_fold_holds_the_items_of_its_rows_by_outcome_and_counts_them(logs, page_bits):
    tracker = Tracker(MemoryStore(), page_bits=page_bits)
    ids = opened(tracker, 12, 3, 5) + opened(tracker, 20)
    rows = [[(ids[at], outcome) for at, outcome in log] for log in logs]
    all_rows = [row for log in rows for row in log]

    found = folded(Folder(tracker.store, TENANT), *(portion(*log) for log in rows))

    for kind, outcomes in (("succeeded", {None, "success"}), ("failed", {"failure"})):
        expected: dict[str, set[int]] = {}
        for item_id, outcome in all_rows:
            if outcome in outcomes:
                expected.setdefault(item_id[:36], set()).add(position(item_id))
        assert positions_in(found, kind, page_bits) == expected
    assert sum(found["acks"]) == sum(outcome in {None, "success", "failure"} for _, outcome in all_rows)
    assert len(found["rejected"]) == sum(outcome in {"other", ""} for _, outcome in all_rows)


def test_items_beyond_a_batch_that_was_restored_to_an_earlier_time_are_out_of_range(tracker):
    ids = opened(tracker, 5, 6)
    (key,) = tracker.store.batches
    tracker.store.batches[key] = replace(tracker.store.batches[key], total=5)

    found = folded(Folder(tracker.store, TENANT), portion(*ids), portion(*ids))

    assert positions_in(found, "succeeded") == {key.batch_id: set(range(5))}
    assert [(row["item_id"], row["refusal"]) for row in found["rejected"]] == [
        (item, "out_of_range") for item in ids[5:] * 2
    ]


def test_each_row_that_sets_no_bit_is_handed_on_with_why(tracker):
    good, other, counted = opened(tracker, 5), opened(tracker, 5), opened(tracker, 5, mode=Mode.ESTIMATED)
    foreign = f"{good[0][:36]}:{other[0][37:73]}:0"
    absent = f"00000000-0000-4000-8000-000000000009{good[0][36:]}"
    rows = [
        (good[0], None),
        (None, None),
        ("junk", "success", "why"),
        (foreign, "failure", "böse"),
        (absent, None),
        (good[0][:-1] + "5", None),
        (counted[1], None),
        (good[1], "done"),
    ]

    found = folded(Folder(tracker.store, TENANT), portion(*rows, lines=("half a line",)))

    whys = ["malformed", "malformed", "foreign", "no_batch", "out_of_range", "estimated", "outcome"]
    expected = [
        {"file": "log", "item_id": item, "outcome": outcome, "reason": (*reasons, None)[0], "refusal": why}
        for (item, outcome, *reasons), why in zip(rows[1:], whys, strict=True)
    ]
    line = {"file": "log", "item_id": "half a line", "outcome": None, "reason": None, "refusal": "unreadable"}
    assert found["rejected"] == [*expected, line]
    assert (found["acks"], positions_in(found, "succeeded")) == ([1], {good[0][:36]: {0}})


def test_an_id_of_another_tenant_is_of_no_batch(tracker):
    found = folded(Folder(tracker.store, "thief"), portion(*opened(tracker, 2)))

    assert [row["refusal"] for row in found["rejected"]] == ["no_batch", "no_batch"]
    assert found["block"] == []


def test_bytes_that_are_no_text_are_handed_on_as_text(tracker):
    raw = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff:\xfe"]).buffers())

    found = folded(Folder(tracker.store, TENANT), Portion(ItemIds(raw), *[pa.nulls(1, pa.string())] * 2))

    assert [row["item_id"] for row in found["rejected"]] == ["\ufffd:\ufffd"]


def test_no_salt_comes_out(tracker):
    ids = opened(tracker, 3)
    batch = tracker.get(TENANT, ids[0][:36])
    folder = Folder(tracker.store, TENANT)

    found = folded(folder, portion(*ids, "junk", (ids[0], "failure", "x")))

    assert batch.salt.hex() not in str(found) + repr(folder)
    assert repr(batch.salt)[2:-1] not in str(found) + repr(folder)


def test_a_task_hands_on_so_many_reasons_of_a_batch_and_no_more(tracker, monkeypatch):
    monkeypatch.setattr(fold, "REASONS", 5)
    one, other = opened(tracker, 8), opened(tracker, 8)
    rows = [(item, "failure", f"why {number}") for number, item in enumerate(one[:4] + other[:2])]
    more = [(item, "failure", "late") for item in one[4:] + other[2:3]]

    found = folded(Folder(tracker.store, TENANT), portion(*rows), portion(*more))

    reasons = Counter(row["batch_id"] for row in found["reason"])
    assert reasons == {one[0][:36]: 5, other[0][:36]: 3}
    assert positions_in(found, "failed")[one[0][:36]] == set(range(8))


@pytest.mark.parametrize("reason", ["", "x" * 513, "a\nb", "\x7f", "a\x00"])
def test_a_reason_that_the_tracker_would_not_take_is_not_kept(tracker, reason):
    (item,) = opened(tracker, 1)

    found = folded(Folder(tracker.store, TENANT), portion((item, "failure", reason)))

    assert (found["reason"], positions_in(found, "failed")) == ([], {item[:36]: {0}})
