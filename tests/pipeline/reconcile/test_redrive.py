"""What reconcile saved is sent again under the same ids, and the batch completes."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass, replace

import pytest

from fanin import Fanin
from fanin.client.consuming.chunks import chunk_of
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import BatchKey, State, Tracker
from pipeline.engine_without_spark.engines import LOCAL, SPARK
from pipeline.fan_out.on_spark import SparkEngine
from pipeline.fan_out.publish import FanOutRequest, fan_out
from pipeline.fan_out.send import BatchIsOver
from pipeline.jobs import redrive
from pipeline.reconcile import local_redrive, run
from pipeline.reconcile import redrive as redriving
from pipeline.reconcile.resending import RedriveRequest
from pipeline.reconcile.run import ReconcileRequest
from pipeline.shared_by_jobs import datasets, session
from pipeline.table_frames import frames
from tests.pipeline.conftest import live_tables, recording_queue
from tests.pipeline.exporting import put_rows

ITEMS = 120
PAGE_BITS = 16
WITHHELD = {3, 15, 16, 60, 61, 62, 119}
FAILED = {0, 40}
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def quiet(event: str, facts: dict) -> None:
    """Ignore the event."""


def received(sqs) -> dict[int, dict]:
    """The messages since last asked, by the index of their item."""
    messages = {int(m["itemId"].rpartition(":")[2]): m for m in sqs.messages}
    assert len(messages) == len(sqs.messages)
    sqs.bodies.clear()
    return messages


@dataclass(frozen=True)
class LossyBatch:
    """A batch some of whose messages were lost: what was sent, what reconcile saved, its rows."""

    batch_id: str
    messages: dict[int, dict]
    saved: str
    rows: list[dict]


@pytest.fixture(scope="module")
def lossy(spark, aws, tmp_path_factory) -> LossyBatch:
    """The catalog, fanned out into live tables; consumers ack all but some, and reconcile names those."""
    path = str(tmp_path_factory.mktemp("lossy"))
    with live_tables(aws) as tables, recording_queue() as sqs:
        api = Fanin(DirectTransport(Tracker(tables.store, page_bits=PAGE_BITS), "tenant"))
        catalog = str(datasets.CATALOG_SLICE)
        options = {"traceparent": TRACE}
        request = FanOutRequest(catalog, f"{path}/manifest", sqs.queue, "k", limit=ITEMS, options=options)
        batch_id = fan_out(SparkEngine(spark), api, request, quiet, run="run-1").batch_id
        sent = received(sqs)
        api.ack(sent[index]["itemId"] for index in set(sent) - WITHHELD - FAILED)
        api.fail(sent[index]["itemId"] for index in FAILED)
        snapshot = frames.from_tables(spark, tables, batch_id)
        lost = ReconcileRequest(batch_id, f"{path}/manifest", f"{path}/saved", failed=True)
        run.reconcile(spark, snapshot, lost, quiet)
        scans = [tables.client.scan(TableName=name) for name in (tables.batches, tables.pages)]
        rows = [row for scan in scans for row in scan["Items"]]
    return LossyBatch(batch_id, sent, lost.saved, rows)


class World:
    """The lossy batch in live tables, after reconcile."""

    def __init__(self, spark, tables, sqs, lossy: LossyBatch, engine: str) -> None:
        self.engine = engine
        self.spark, self.tables, self.sqs, self.saved = spark, tables, sqs, lossy.saved
        self.api = Fanin(DirectTransport(Tracker(tables.store), "tenant"))
        self.batch_id, self.first = lossy.batch_id, lossy.messages
        put_rows(tables, lossy.rows)

    def received(self) -> dict[int, dict]:
        return received(self.sqs)

    def ack(self, messages: dict[int, dict], *indexes: int) -> None:
        """Ack the items *indexes* of *messages*, or all."""
        self.api.ack(messages[index]["itemId"] for index in indexes or messages)

    def redrive(self, **more) -> dict[str, int]:
        request = replace(RedriveRequest(self.saved, self.sqs.queue), **more)
        if self.engine == LOCAL:
            return local_redrive.redrive(self.tables, request, quiet, 1)
        return redriving.redrive(self.spark, self.tables, request, quiet)


@pytest.fixture(params=[SPARK, LOCAL])
def world(request, spark, tables, sqs, lossy) -> World:
    return World(spark, tables, sqs, lossy, request.param)


def same(messages: dict[int, dict]) -> dict[int, tuple]:
    return {index: (m["itemId"], m["record"]) for index, m in messages.items()}


def test_a_batch_that_lost_messages_completes_by_what_is_redriven_and_not_before(world):
    counts = world.redrive()
    again = world.received()
    before = world.api.status(world.batch_id).state
    world.ack(again)

    assert counts == {"sent": len(WITHHELD), "retried": 0, "acked": 0}
    assert same(again) == {index: each for index, each in same(world.first).items() if index in WITHHELD}
    assert world.sqs.traces == {TRACE}
    assert (before, world.api.status(world.batch_id).state) == (State.CLOSED, State.COMPLETE)
    assert world.api.status(world.batch_id).result == "completed_with_failures"
    with pytest.raises(BatchIsOver, match=r"is COMPLETE since .* nothing was sent"):
        world.redrive()
    assert world.received() == {}


def test_failed_items_are_sent_again_and_first_so_that_a_success_can_heal_them(world):
    seen = world.sqs.seen
    world.sqs.judge = lambda number: "InternalError" if number == seen + 2 else "accept"
    counts = world.redrive(failed=True)
    again = world.received()
    world.ack(again)

    assert set(list(again)[: len(FAILED)]) == FAILED
    assert set(again) == WITHHELD | FAILED
    assert (counts["sent"], counts["retried"]) == (len(again), 1)
    assert world.api.status(world.batch_id).result == "succeeded"


@pytest.mark.proof
def test_items_acked_since_are_left_out_of_each_run_unless_the_tables_are_not_to_be_read(world):
    world.ack(world.first, 3, 61, 40)

    counts = world.redrive(failed=True)
    once = world.received()
    world.ack(once, 15, 0)
    world.redrive(failed=True)
    twice = world.received()
    unread = world.redrive(fresh=False)

    assert counts == {"sent": 6, "retried": 0, "acked": 3}
    assert set(once) == (WITHHELD | FAILED) - {3, 61, 40}
    assert set(twice) == set(once) - {15, 0}
    assert (set(world.received()), unread["acked"]) == (WITHHELD, 0)


def test_a_batch_that_is_over_is_not_redriven(world):
    world.api.cancel(world.batch_id)
    with pytest.raises(BatchIsOver, match="CANCELLED"):
        world.redrive()

    key = {"pk": {"S": str(BatchKey("tenant", world.batch_id))}, "sk": {"S": "batch"}}
    world.tables.client.delete_item(TableName=world.tables.batches, Key=key)
    with pytest.raises(BatchIsOver, match="no longer exists"):
        world.redrive()

    assert world.received() == {}


def test_the_job_says_what_it_would_cost_and_what_it_did(world, monkeypatch, capsys):
    monkeypatch.setattr(session, "spark_session", lambda name, cores: nullcontext(world.spark))
    tables, queue = world.tables, world.sqs.queue
    places = ["--batches-table", tables.batches, "--pages-table", tables.pages, "--region", tables.region]
    ends = ["--tables-endpoint-url", tables.endpoint, "--endpoint-url", queue.endpoint]

    saved = ["--saved", world.saved, "--engine", world.engine, "--cores", "1"]
    redrive.main([*saved, "--dry-run", "--failed"])
    before = world.received()
    redrive.main([*saved, "--queue-url", queue.url, *places, *ends, "--json"])

    _, estimate, *events = capsys.readouterr().out.splitlines()
    assert (estimate.startswith(f"{len(WITHHELD | FAILED)} messages: "), before) == (True, {})
    assert json.loads(events[-1]) == {"event": "redriven", "sent": 7, "retried": 0, "acked": 0}


@pytest.mark.proof
def test_what_is_missing_of_chunks_is_sent_again_in_chunks(world):
    counts = world.redrive(chunk=64)
    chunks = [chunk_of({"messageId": "m", "body": body}) for body in world.sqs.bodies]
    rows = {index: chunk.item(index).row for chunk in chunks for index in chunk.items.indexes}

    assert counts["sent"] == len(WITHHELD)
    assert rows == {index: world.first[index]["record"] for index in WITHHELD}
    assert len(chunks) < len(WITHHELD)
