"""Every form of a queue's config row is written and read, over a row with a revision and over one without."""

from __future__ import annotations

from itertools import product

import pytest

from fanin.queue.config import Phase, QueueConfig
from fanin.queue.describing import CountedDepth
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.keys import QueueKey
from fanin.queue.memory import MemoryStore
from fanin.queue.model import Accuracy, Depth
from tests.contract.queue.calls import LATER, NOW, QUEUE

IDLE = ({}, {"idle_us": NOW}, {"idle_us": NOW, "asleep_us": LATER})
REMOVING = ({}, {"removing_us": NOW}, {"removing_us": NOW, "removed_us": LATER})
DOORBELL = ({}, {"doorbell": "https://queue"})
RAISED = (
    {},
    {"before": 1, "phase": Phase.PREPARING},
    {"before": 1, "phase": Phase.DRAINING, "since_us": NOW},
    {"before": 1, "phase": Phase.DRAINING, "since_us": NOW, "cursor": "k#a"},
)
FORMS = [
    idle | removing | bell | raised
    for idle, removing, bell, raised in product(IDLE, REMOVING, DOORBELL, RAISED)
    # A sleeping queue is not removed nor raised, and a raise ends where a removal begins.
    if not ("asleep_us" in idle and (removing or raised)) and not (removing and "cursor" in raised)
]


@pytest.mark.parametrize("revision", [1, 2])
def test_each_form_of_a_config_is_written_over_the_one_before_it(store, revision):
    for number, form in enumerate(FORMS):
        queue = QueueKey("tenant", f"q{number}")
        store.create(queue, QueueConfig(parts=2, revision=revision - 1))
        written = QueueConfig(parts=2, revision=revision, **form)

        assert store.reconfigure(queue, written) == written


def test_a_tenants_queues_are_listed_in_order_with_the_depth_that_was_counted_last(store):
    if isinstance(store, MemoryStore):
        pytest.skip("the registry is of rows")
    registry = Registry(store.client, store.table)
    for name in ("orders", "a", "b"):
        store.create(QueueKey(QUEUE.tenant, name), QueueConfig(parts=1))
    late, early = (CountedDepth(Depth(n, 0, 0, 0, 0, Accuracy.EXACT), at) for n, at in ((2, LATER), (1, NOW)))
    for counted in (late, early):
        registry.record(QUEUE, counted)

    assert [queue.name for queue in registry.of_tenant(QUEUE.tenant, None, 2)] == ["a", "b"]
    assert [queue.name for queue in registry.of_tenant(QUEUE.tenant, "a", 9)] == ["b", "orders"]
    assert registry.seen([QUEUE])[QUEUE][1] == late
