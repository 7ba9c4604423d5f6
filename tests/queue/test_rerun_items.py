"""The item that the next run acks, where one rerun replaces another."""

from __future__ import annotations

import pytest

from fanin.queue import NewJob
from tests.item_ids import item_named

SECOND = item_named("second")


@pytest.mark.parametrize(
    ("items", "acked"),
    [((None, SECOND), SECOND), ((SECOND, None), SECOND), ((None, None), None)],
)
def test_a_rerun_acks_the_item_that_one_of_its_requests_has(queue, items, acked):
    queue.add(NewJob("a", item_id=item_named("first")))
    with queue.take(wait=0):
        for number, item in enumerate(items):
            assert queue.add(NewJob("a", payload=f"{number}", item_id=item), on_busy="rerun")
    (job,) = queue.queued()

    assert (job.payload, job.item_id) == ("1", acked)
