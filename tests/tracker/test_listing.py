"""A tenant's batches, newest first."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.tracker import (
    ListQuery,
    OpenBatch,
    State,
    memory,
)
from fanin.tracker.rules.model import SHARDS
from tests.tracker.calls import DAY, opened


def test_batches_are_listed_newest_first_page_by_page(tracker, clock):
    ids = []
    for number in range(25):
        clock.at += timedelta(seconds=1)
        ids.append(opened(tracker, user_key="odd" if number % 2 else None)[0])
    tracker.cancel("t", ids[3])
    tracker.open("other", OpenBatch())
    found, after = [], None
    while True:
        part = tracker.list("t", ListQuery(limit=10, after=after))
        found += [batch.batch_id for batch in part.batches]
        after = part.resume
        if after is None:
            break

    assert found == ids[::-1]
    assert [b.batch_id for b in tracker.list("t", ListQuery(user_key="odd")).batches] == ids[1::2][::-1]
    assert [b.batch_id for b in tracker.list("t", ListQuery(state=State.CANCELLED)).batches] == [ids[3]]


@pytest.mark.parametrize("state", [None, State.OPEN, State.CANCELLED])
@pytest.mark.parametrize("limit", [1, 3, 50])
def test_a_list_whose_parts_stop_early_leaves_nothing_out_and_keeps_its_order(
    tracker, clock, monkeypatch, state, limit
):
    """A rare state lies further back than one look goes: pages are short, or empty, and go on."""
    monkeypatch.setattr(memory, "ROWS_A_LISTING", 2)
    ids = []
    for number in range(60):
        clock.at += timedelta(seconds=1)
        ids.append(opened(tracker)[0])
        if number in (0, 41):
            tracker.cancel("t", ids[-1])
    found, pages, after = [], 0, None
    while pages == 0 or after is not None:
        part = tracker.list("t", ListQuery(state=state, limit=limit, after=after))
        assert len(part.batches) <= limit
        found, pages, after = found + list(part.batches), pages + 1, part.resume

    cancelled = {ids[0], ids[41]}
    wanted = {
        None: ids,
        State.OPEN: [i for i in ids if i not in cancelled],
        State.CANCELLED: [ids[0], ids[41]],
    }
    assert [batch.batch_id for batch in found] == wanted[state][::-1]
    assert pages >= 60 / (2 * SHARDS)


def test_what_has_expired_is_on_no_list(tracker, clock):
    opened(tracker)
    clock.at += 8 * DAY

    assert tracker.list("t", ListQuery()).batches == ()


def test_a_page_among_ten_thousand_batches_reads_as_many_rows_of_each_part(tracker, clock, monkeypatch):
    for _ in range(200):
        clock.at += timedelta(seconds=1)
        opened(tracker)
    (batch, *_) = tracker.store.batches.values()
    rows = {f"00000000-0000-4000-8000-{number:012x}": number for number in range(9_800)}
    for batch_id, number in rows.items():
        older = replace(batch, batch_id=batch_id, created_at=batch.created_at - timedelta(seconds=number))
        tracker.store.batches[older.key] = older
    asked, listing = [], tracker.store.listing
    monkeypatch.setattr(tracker.store, "listing", lambda query: asked.append(query) or listing(query))
    page = tracker.list("t", ListQuery(limit=50))

    assert len(page.batches) == 50
    assert sorted(query.shard for query in asked) == list(range(SHARDS))
    assert {query.limit for query in asked} == {50}
    asked.clear()
    tracker.list("t", ListQuery(limit=50, user_key="mailing-3"))
    assert len(asked) == 1
