"""Tasks and bundles that a newer release wrote: messages return, and the sweep goes on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from moto import mock_aws

from fanin.errors import NewerSchema
from fanin.grouper import BundleMessage, Grouper, NewTask, TaskMessage
from fanin.grouper.rules.model import BundleKey, TaskKey
from fanin.grouper.use_cases.consuming import consume
from tests.contract import golden
from tests.contract.grouper.calls import NOW
from tests.grouper.conftest import Bench

SENTENCE = "upgrade fanin in this process"


@pytest.fixture
def bench():
    """A group-batcher over rows of each kind, when the lease and all work is overdue."""
    with mock_aws():
        bench = Bench()
        bench.store = golden.groupers()
        bench.world = replace(bench.world, store=bench.store)
        bench.grouper = Grouper(bench.world)
        bench.clock.at = NOW + timedelta(hours=2)
        yield bench


def make_newer(bench, table, name):
    golden.put(bench.store, table, golden.newer(golden.rows(table)[name]))


def sent(bench):
    return [posting.message for posting in bench.queue.sent]


def test_a_newer_bundle_keeps_no_lane_from_its_sweep(bench, caplog):
    make_newer(bench, "bundles", "fence 7")
    with pytest.raises(NewerSchema, match="has schema version 99"):
        bench.grouper.sweep()

    assert [message.key for message in sent(bench)] == [TaskKey("tenant", "open")]
    assert SENTENCE in caplog.text


def test_a_newer_task_returns_its_message_alone(bench, caplog):
    make_newer(bench, "tasks", "open")
    messages = [TaskMessage(TaskKey("tenant", name)) for name in ("open", "ok")]
    records = [{"messageId": each.key.task_id, "body": each.body()} for each in messages]
    consumed = consume(records, lambda body: bench.grouper.lead(TaskMessage.parse(body)), lambda: True)

    assert consumed.failed == ("open",)
    assert SENTENCE in caplog.text


def test_a_newer_task_is_left_out_of_the_bundle_of_its_lane(bench, caplog):
    make_newer(bench, "tasks", "open")
    lease = golden.rows("leases")["tenant#search#0"] | {"fence": {"N": "20"}}
    golden.put(bench.store, "leases", lease)
    other = bench.grouper.register("tenant", NewTask({}, "search", "other"))
    bench.clock.advance(seconds=120)
    bench.grouper.lead(TaskMessage(other.key))
    rows = golden.stored(bench.store, "tasks")

    assert bench.store.task(other.key).state == "BUNDLED"
    assert rows[str({"pk": {"S": "tenant#open"}})] == golden.newer(golden.rows("tasks")["open"])


def test_a_newer_task_or_bundle_is_neither_registered_over_nor_called(bench):
    make_newer(bench, "tasks", "open")
    make_newer(bench, "bundles", "fence 7")
    bench.clock.at = NOW
    with pytest.raises(NewerSchema, match=SENTENCE):
        bench.grouper.register("tenant", NewTask({}, "search", "open"))
    with pytest.raises(NewerSchema, match=SENTENCE):
        bench.grouper.handle(
            BundleMessage(BundleKey("tenant", "1b57b661-16c2-576c-92a6-43df35dc0273")),
            bench.api,
            bench.listener,
        )

    assert bench.api.calls == []
