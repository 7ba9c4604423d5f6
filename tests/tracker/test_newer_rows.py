"""A batch that a newer release wrote: every use case stops with the sentence, and the sweep goes on."""

from __future__ import annotations

from datetime import timedelta

import pytest
from moto import mock_aws

from fanin.api.bus_events.task_acks import ack_items
from fanin.errors import NewerSchema
from fanin.grouper import ItemAck
from fanin.tracker import Ack, Tracker
from tests.contract import golden
from tests.contract.tracker.calls import NOW

PARENT, CHILD = (f"00000000-0000-4000-8000-00000000000{n}" for n in (1, 2))
GROUP = "00000000-0000-8000-8002-2cfb4fed6a31"
CHILD_GROUP = "00000000-0000-8000-8004-d1499a3fae11"
DAY = timedelta(days=1)


@pytest.fixture
def tracker():
    """A tracker over rows of each kind, at the time of their last write."""
    with mock_aws():
        yield Tracker(golden.trackers(), page_bits=8, now=lambda: NOW + timedelta(minutes=2))


def make_newer(tracker, name):
    golden.put(tracker.store, "batches", golden.newer(golden.rows("batches")[f"{name}: batch"]))


def everything(tracker):
    return golden.stored(tracker.store, "batches"), golden.stored(tracker.store, "pages")


def acks_of(batch_id, group, *numbers):
    return [Ack.of(f"{batch_id}:{group}:{number}", "caller") for number in numbers]


def test_the_sweep_leaves_a_newer_batch_out_and_ends_all_others(tracker, caplog):
    make_newer(tracker, "parent")
    before = everything(tracker)[0]
    tracker.now = lambda: NOW + 60 * DAY
    swept = tracker.sweep()
    after = everything(tracker)[0]
    key = str({"pk": {"S": f"tenant#{PARENT}"}, "sk": {"S": "batch"}})

    assert (swept.looked, swept.expired, swept.timed_out) == (6, 2, 1)
    assert "upgrade fanin in this process" in caplog.text
    assert after[key] == before[key]
    assert swept.failed >= 1


def test_the_items_of_tasks_in_other_batches_are_acked_beside_one_in_a_newer_batch(tracker):
    make_newer(tracker, "parent")
    names = f"{PARENT}:{GROUP}:0", f"{CHILD}:{CHILD_GROUP}:12", f"{CHILD}:{CHILD_GROUP}:13"
    acked = tracker.progress(tracker.get("tenant", CHILD)).acked
    with pytest.raises(NewerSchema, match="upgrade fanin in this process"):
        ack_items(tracker, [ItemAck("tenant", name, False, "", name) for name in names])

    assert tracker.progress(tracker.get("tenant", CHILD)).acked == acked + 2


ENDS = {
    "ack": lambda t: t.ack("tenant", acks_of(CHILD, CHILD_GROUP, 8, *range(12, 20))),
    "cancel": lambda t: t.cancel("tenant", CHILD),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_child_ends_though_its_parent_is_newer_and_the_parent_is_acked_once_it_can_be_read(
    tracker, name, caplog
):
    make_newer(tracker, "parent")
    ENDS[name](tracker)
    child = tracker.get("tenant", CHILD)
    with pytest.raises(NewerSchema):
        tracker.confirm(child)

    assert not child.is_alive
    assert f"the parent of batch {CHILD} is not acked yet" in caplog.text
    assert "upgrade fanin in this process" in caplog.text
    golden.put(tracker.store, "batches", golden.rows("batches")["parent: batch"])
    tracker.confirm(tracker.get("tenant", CHILD))
    assert tracker.progress(tracker.get("tenant", PARENT)).acked == 1
