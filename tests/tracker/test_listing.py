"""A tenant's batches, newest first."""

from __future__ import annotations

from datetime import timedelta

from fanin.tracker import (
    ListWish,
    OpenBatch,
    State,
)
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
        part = tracker.list("t", ListWish(limit=10, after=after))
        found += [batch.batch_id for batch in part.batches]
        after = part.resume
        if after is None:
            break

    assert found == ids[::-1]
    assert [b.batch_id for b in tracker.list("t", ListWish(user_key="odd")).batches] == ids[1::2][::-1]
    assert [b.batch_id for b in tracker.list("t", ListWish(state=State.CANCELLED)).batches] == [ids[3]]


def test_what_has_expired_is_on_no_list(tracker, clock):
    opened(tracker)
    clock.at += 8 * DAY

    assert tracker.list("t", ListWish()).batches == ()
