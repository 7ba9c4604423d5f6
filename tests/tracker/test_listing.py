"""A tenant's batches, newest first."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.tracker import ListQuery, State, memory
from fanin.tracker.rules.model import SHARDS
from tests.tracker.calls import opened


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


@pytest.mark.parametrize("limit", [1, 3])
def test_a_page_that_ends_with_the_last_batch_is_the_last_page(tracker, limit):
    for _ in range(limit):
        opened(tracker)

    page = tracker.list("t", ListQuery(limit=limit))

    assert (len(page.batches), page.resume) == (limit, None)
