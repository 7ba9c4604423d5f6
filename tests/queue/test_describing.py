"""The status of a queue: its activity, and the queue that does not exist."""

from __future__ import annotations

import pytest

from fanin.errors import NotFound
from fanin.queue.administration.describing import Activity, QueueStatus, describe, status_of
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.model import Accuracy, Depth

NONE = Depth(ready=0, busy=0, delayed=0, dead=0, oldest_us=0, accuracy=Accuracy.EXACT)


@pytest.mark.parametrize(
    ("times", "activity"),
    [
        ({}, Activity.IN_USE),
        ({"idle_us": 1}, Activity.IDLE),
        ({"idle_us": 1, "asleep_us": 2}, Activity.ASLEEP),
        ({"idle_us": 1, "asleep_us": 2, "removing_us": 3}, Activity.REMOVING),
        ({"removing_us": 3}, Activity.REMOVING),
    ],
)
def test_the_activity_of_a_queue_is_the_last_that_it_came_to(times, activity):
    assert QueueStatus("orders", QueueConfig(1, **times), NONE, 0).activity is activity


def test_a_queue_that_does_not_exist_has_no_status(queue):
    with pytest.raises(NotFound, match="queue 'orders' does not exist"):
        status_of(queue.context)
    assert describe(queue.context) is None
