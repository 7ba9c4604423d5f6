"""The limits of a list, of a batch and of its ids, at their last value and beyond it."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest
from fanin.tracker import GroupId, ListQuery
from tests.tracker.calls import DAY, opened
from tests.tracker.stored import ID, TICK


def test_a_page_of_a_list_has_fifty_batches_unless_its_query_has_a_limit(tracker):
    for _ in range(51):
        opened(tracker)
    page = tracker.list("t", ListQuery())

    assert len(page.batches) == 50
    assert len(tracker.list("t", ListQuery(after=page.resume)).batches) == 1


@pytest.mark.parametrize("limit", [1, 3])
def test_a_page_that_ends_with_the_last_batch_is_the_last_page(tracker, limit):
    for _ in range(limit):
        opened(tracker)
    page = tracker.list("t", ListQuery(limit=limit))

    assert (len(page.batches), page.resume) == (limit, None)


def test_a_batch_is_on_the_list_until_the_time_of_its_expiry(tracker, clock):
    batch_id, _ = opened(tracker)
    expires_at = tracker.get("t", batch_id).expires_at
    clock.at = expires_at - TICK
    assert [batch.batch_id for batch in tracker.list("t", ListQuery()).batches] == [batch_id]
    clock.at = expires_at

    assert tracker.list("t", ListQuery()).batches == ()


def test_a_batch_that_was_ended_by_its_expiry_is_on_no_list(tracker, clock):
    opened(tracker)
    clock.at += 8 * DAY
    assert tracker.sweep().expired == 1

    assert tracker.list("t", ListQuery()).batches == ()


def test_a_batch_has_up_to_2_to_the_40_items(tracker):
    batch_id, _ = opened(tracker)
    for _ in range(16):
        added = tracker.add("t", batch_id, 2**36)
    assert added.total == 2**40

    with pytest.raises(InvalidRequest) as caught:
        tracker.add("t", batch_id, 1)
    assert (str(caught.value), caught.value.field) == (
        "a batch holds at most 1099511627776 items",
        "count",
    )


@pytest.mark.parametrize("version", [version for version in range(16) if version != 8])
def test_a_uuid_is_a_group_id_in_version_8_alone(version):
    text = str(GroupId.make(b"salt", ID, 0, 10))
    assert GroupId.decode(text) is not None

    assert GroupId.decode(f"{text[:14]}{version:x}{text[15:]}") is None
