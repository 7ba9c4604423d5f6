"""What is left of a range of items, as consumers ask for it, over each transport."""

from __future__ import annotations

import pytest

from fanin import InvalidRequest, NotFound
from fanin.client.items import Items, merged

UNKNOWN = "00000000-0000-4000-8000-00000000dead"


def left(fanin, items, failed=False):
    """Indexes that are left of the *items*."""
    first, last = items.indexes[0], items.indexes[-1]
    found = fanin._transport.left(items.batch_id, items.group_id, first, last, failed)
    return [(part.indexes[0], part.indexes[-1]) for part in found]


def test_the_outstanding_of_a_range_are_left_and_the_failed_if_asked_for(fanin):
    items = fanin.open().add(30)
    fanin.ack(items[3:9]), fanin.fail(items[9:12]), fanin.fail(items[20:21])

    assert left(fanin, items[2:14]) == [(2, 2), (12, 13)]
    assert left(fanin, items[2:14], failed=True) == [(2, 2), (9, 13)]
    assert left(fanin, items[15:22], failed=True) == [(15, 21)]
    assert left(fanin, items[4:6], failed=True) == []
    assert left(fanin, items[20:21]) == []


def test_over_http_the_failed_are_asked_for_only_if_an_item_is_not_outstanding(over_http, service):
    items = over_http.open().add(8)
    del service.seen[:]
    left(over_http, items, failed=True)

    assert [request.path.partition("?")[0].rpartition("/")[2] for request in service.seen] == ["outstanding"]


def test_what_does_not_exist_is_not_found_and_what_is_beyond_the_group_refused(fanin):
    items = fanin.open().add(8)
    with pytest.raises(NotFound):
        fanin._transport.left(UNKNOWN, items.group_id, 0, 1)
    with pytest.raises(NotFound):
        fanin._transport.left(items.batch_id, UNKNOWN, 0, 1)
    with pytest.raises(InvalidRequest):
        fanin._transport.left(items.batch_id, items.group_id, 0, 8)


def test_ranges_that_touch_become_one(fanin):
    items = fanin.open().add(30)
    whole = Items.between(items.batch_id, items.group_id, 4, 9)

    assert merged(items[7:10], items[4:7], items[20:21]) == (whole, items[20:21])
    assert merged() == ()
