"""Consumers over HTTP against the local run: hand-over and skipped work."""

from __future__ import annotations

import pytest

from fanin import Fanin, NewJob
from tests.client.received import DELETED, acked, delivered
from tests.http.test_job_consumer import QUEUE, states, unused
from tests.polling import eventually


@pytest.mark.parametrize(
    ("end", "failed", "result"), [("ack", 0, "succeeded"), ("fail", 1, "completed_with_failures")]
)
def test_the_end_of_a_child_decides_on_the_item_that_was_handed_over(run, bus, end, failed, result):
    fanin, children = Fanin(run.url), []
    with fanin.open() as parent:
        (item,) = parent.add(1)

    def grow(record):
        with fanin.open(parent=record["body"], parent_fails_on="any") as child:
            children.append(child.add(2))

    assert [delivered(fanin, item, grow, times) for times in (1, 2)] == [DELETED] * 2
    assert (acked(parent), children[0]) == ((0, 0), children[1])
    getattr(fanin, end)(children[0])
    assert acked(parent) == (1, failed)
    assert {event["eventId"]: event["result"] for event in bus.of(parent.id)} == {
        f"{parent.id}:COMPLETE": result
    }


@pytest.mark.parametrize(("payload", "failed", "state"), [(None, 0, []), ("bad", 1, ["dead"])])
def test_the_end_of_a_job_decides_on_the_item_that_was_handed_over(library, api, payload, failed, state):
    with library.open() as batch:
        (item,) = batch.add(1)
    key = unused("handed")

    def add(record):
        assert library.queue(QUEUE).add(NewJob(key, payload, item_id=record["body"]))

    assert delivered(library, item, add) == DELETED
    assert eventually(lambda: states(api, key) == state)
    library.queue(QUEUE).sweep()
    assert eventually(lambda: acked(batch) == (1, failed))
