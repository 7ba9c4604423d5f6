"""Every form of a queue's config row is written and read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.queue.administration.describing import CountedDepth
from fanin.queue.dynamodb import requests
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.keys import QueueKey
from fanin.queue.rules.model import Accuracy, Depth
from tests.contract.queue import config_forms
from tests.contract.queue.calls import LATER, NOW, QUEUE
from tests.contract.queue_table import QUEUE_TABLE
from tests.request_rules import shapes

WRITTEN = config_forms.written()


def test_each_form_of_a_config_is_written_over_the_one_before_it(store):
    for number, form in enumerate(WRITTEN):
        queue, config = QueueKey("tenant", f"q{number}"), replace(form, revision=1)
        store.create(queue, QueueConfig(parts=2))

        assert store.reconfigure(queue, config) == config


def test_the_requests_of_all_forms_are_listed_and_no_others():
    requests_of = [requests.reconfigure(QUEUE_TABLE, QUEUE, each) for each in WRITTEN]
    listed = (each for each in shapes.listed() if each.startswith("UpdateItem"))
    configs = {each for each in listed if " parts = :parts" in each}

    assert configs == {shapes.shape("UpdateItem", request) for request in requests_of}


def test_a_tenants_queues_are_listed_in_order_with_the_depth_that_was_counted_last(store):
    if isinstance(store, MemoryStore):
        pytest.skip("the registry is of rows")
    registry = Registry(store.client, store.table)
    for name in ("orders", "a", "b"):
        store.create(QueueKey(QUEUE.tenant, name), QueueConfig(parts=1))
    late, early = (
        CountedDepth(Depth(n, 0, 0, 0, 0, Accuracy.EXACT), at, at) for n, at in ((2, LATER), (1, NOW))
    )
    for counted in (late, early):
        registry.record(QUEUE, counted)

    assert [queue.name for queue in registry.of_tenant(QUEUE.tenant, None, 2)] == ["a", "b"]
    assert [queue.name for queue in registry.of_tenant(QUEUE.tenant, "a", 9)] == ["b", "orders"]
    assert registry.seen([QUEUE])[QUEUE][1] == late
    assert {queue.name for queue in registry.queues()} == {"orders", "a", "b"}


def test_a_removed_queue_is_not_among_those_that_exist(store):
    if isinstance(store, MemoryStore):
        pytest.skip("the registry is of rows")
    registry, gone = Registry(store.client, store.table), QueueKey(QUEUE.tenant, "gone")
    for queue in (QUEUE, gone):
        store.create(queue, QueueConfig(parts=1))
    store.reconfigure(gone, QueueConfig(parts=1, revision=1, removing_us=NOW, removed_us=NOW + 1))

    assert list(registry.seen([QUEUE, gone])) == [QUEUE]
    assert [each.queue for each in registry.last_visits([gone, QUEUE])] == [QUEUE]
