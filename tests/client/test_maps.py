"""The client's map of a batch, and the filters of its list."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from fanin import BatchMap, InvalidRequest
from fanin.tracker import TOTAL_MAX

BATCH = "00000000-0000-4000-8000-00000000dead"


def test_a_map_has_the_done_items_and_the_failures_of_each_cell(fanin):
    batch = fanin.open()
    items = batch.add(20)
    fanin.ack(items[:7])
    fanin.fail(items[9:11])

    assert batch.map(cells=5) == BatchMap(0, 20, 4, (4, 3, 2, 0, 0), (False, False, True, False, False), True)
    assert fanin.map(batch.id, start=6, stop=11).acked == (1, 0, 0, 1, 1)
    assert fanin.map(batch.id, stop=3).cell_items == 1


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"cells": 0}, "cells"),
        ({"cells": 1025}, "cells"),
        ({"cells": True}, "cells"),
        ({"start": -1}, "start"),
        ({"start": TOTAL_MAX}, "start"),
        ({"start": 5, "stop": 5}, "stop"),
        ({"stop": TOTAL_MAX + 1}, "stop"),
        ({"stop": "9"}, "stop"),
    ],
)
def test_a_window_out_of_bounds_is_refused_by_the_argument_s_name(fanin, given, field):
    with pytest.raises(InvalidRequest) as refusal:
        fanin.map(BATCH, **given)
    assert refusal.value.field == field


def test_batches_are_listed_by_the_beginning_of_their_keys_and_by_time(fanin):
    ids = [fanin.open(name).id for name in ("orders-1", "orders-2", "mail")]
    fanin.cancel(ids[0])
    opened = [fanin.get(each).created_at for each in ids]

    assert {each.batch_id for each in fanin.batches(user_key_prefix="orders-")} == set(ids[:2])
    assert [each.batch_id for each in fanin.batches(state="OPEN", user_key_prefix="orders-")] == [ids[1]]
    after, before = max(opened) + timedelta(seconds=1), min(opened)
    assert list(fanin.batches(opened_from=after)) == list(fanin.batches(opened_to=before)) == []
    assert {each.batch_id for each in fanin.batches(opened_from=before, opened_to=after)} == set(ids)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"user_key": "a", "user_key_prefix": "a"}, "user_key_prefix"),
        ({"user_key_prefix": 5}, "user_key_prefix"),
        ({"opened_from": "2026-03-01T00:00:00Z"}, "opened_from"),
        ({"opened_to": datetime(2026, 3, 1)}, "opened_to"),  # without a zone on purpose
    ],
)
def test_a_filter_out_of_form_is_refused_by_the_argument_s_name(fanin, given, field):
    with pytest.raises(InvalidRequest) as refusal:
        fanin.batches(**given)
    assert refusal.value.field == field
