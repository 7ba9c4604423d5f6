"""The depths that the sweep keeps in the config rows of queues."""

from __future__ import annotations

from dataclasses import replace

import pytest
from moto import mock_aws

from fanin.queue import QueueKey
from fanin.queue.administration.describing import CountedDepth
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.model import Accuracy, Depth
from tests.contract import moto_clients
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table

KEY, GONE = QueueKey("t", "thumbs"), QueueKey("t", "gone")
DEPTH = Depth(1, 2, 3, 4, 5, Accuracy.AT_LEAST)


@pytest.mark.parametrize(("at_us", "kept"), [(19, 1), (20, 1), (21, 9)])
@mock_aws
def test_only_a_count_of_a_later_time_replaces_the_one_that_is_kept(at_us, kept):
    client = moto_clients.client("dynamodb")
    create_queue_table(client)
    DynamoStore(client, QUEUE_TABLE).create(KEY, QueueConfig(2))
    registry = Registry(client, QUEUE_TABLE)
    registry.record(KEY, CountedDepth(DEPTH, 20, 7))
    registry.record(KEY, CountedDepth(replace(DEPTH, ready=9), at_us, 7))

    assert registry.seen([KEY])[KEY][1] == CountedDepth(replace(DEPTH, ready=kept), max(at_us, 20), 7)
