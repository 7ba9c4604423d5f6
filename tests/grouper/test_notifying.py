"""Each ended task is reported: its item is acked, and an event is published if it failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.grouper import ItemAck, OutcomeNotifier, TaskState
from tests.item_ids import item_named


@pytest.fixture
def ended(bench):
    (task,) = bench.register("a", item_id=item_named("i"))
    return replace(task, state=TaskState.FAILED, detail="refused", bundle_id="x")


def reported(*tasks):
    published, acked = [], []
    OutcomeNotifier(published.extend, acked.extend).notify(tasks)
    return published, acked


def test_a_failed_task_is_published_and_its_item_fails(ended):
    ack = ItemAck("t", item_named("i"), failed=True, reason="refused", caller="a:FAILED")

    assert reported(ended) == ([ended], [ack])


def test_a_success_is_the_ack_of_its_item_alone(ended):
    done = replace(ended, state=TaskState.SUCCEEDED, detail="stored")

    assert reported(done) == (
        [],
        [ItemAck("t", item_named("i"), failed=False, reason="", caller="a:SUCCEEDED")],
    )


def test_a_success_is_published_where_it_is_wanted(ended):
    done, published = replace(ended, state=TaskState.SUCCEEDED), []
    OutcomeNotifier(published.extend, [].extend, succeeded=True).notify([ended, done])

    assert published == [ended, done]


def test_a_task_without_an_item_acks_nothing(ended):
    assert reported(replace(ended, item_id=None))[1] == []
