"""What reconcile saved is sent again under the same ids, and the batch completes."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace

import pytest

from fanin import Fanin
from fanin.client.consuming.chunks import chunk_of
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import State, Tracker
from pipeline.fan_out.publish import FanOutRequest, fan_out
from pipeline.jobs import redrive
from pipeline.reconcile import redrive as redriving
from pipeline.reconcile import run
from pipeline.reconcile.redrive import BatchIsOver, RedriveRequest
from pipeline.reconcile.run import ReconcileRequest
from pipeline.snapshot import frames
from pipeline.spark import datasets

ITEMS = 120
PAGE_BITS = 16
WITHHELD = {3, 15, 16, 60, 61, 62, 119}
FAILED = {0, 40}


def quiet(event: str, facts: dict) -> None:
    """Ignore the event."""


class World:
    """The catalog, fanned out into live tables; consumers ack all but some, and reconcile names those."""

    def __init__(self, spark, tables, sqs, folder) -> None:
        self.spark, self.tables, self.sqs, self.folder = spark, tables, sqs, folder
        self.api = Fanin(DirectTransport(Tracker(tables.store, page_bits=PAGE_BITS), "tenant"))
        request = FanOutRequest(
            str(datasets.CATALOG_SLICE), str(folder / "manifest"), sqs.queue, "k", limit=ITEMS
        )
        self.batch_id = fan_out(spark, self.api, request, quiet, run="run-1").batch_id
        self.first = self.received()
        self.api.ack(self.first[index]["itemId"] for index in set(self.first) - WITHHELD - FAILED)
        self.api.fail(self.first[index]["itemId"] for index in FAILED)

    def received(self) -> dict[int, dict]:
        """The messages since last asked, by the index of their item."""
        messages = {int(m["itemId"].rpartition(":")[2]): m for m in self.sqs.messages}
        assert len(messages) == len(self.sqs.messages)
        self.sqs.bodies.clear()
        return messages

    def reconcile(self) -> str:
        request = ReconcileRequest(
            self.batch_id, str(self.folder / "manifest"), str(self.folder / "saved"), failed=True
        )
        snapshot = frames.from_tables(self.spark, self.tables, self.batch_id)
        run.reconcile(self.spark, snapshot, request, quiet)
        return request.saved

    def redrive(self, saved: str, **more) -> dict[str, int]:
        request = replace(RedriveRequest(saved, self.sqs.queue), **more)
        return redriving.redrive(self.spark, self.tables, request, quiet)


@pytest.fixture
def world(spark, tables, sqs, tmp_path) -> World:
    return World(spark, tables, sqs, tmp_path)


def same(messages: dict[int, dict]) -> dict[int, tuple]:
    return {index: (m["itemId"], m["record"]) for index, m in messages.items()}


def test_a_batch_that_lost_messages_completes_by_what_is_redriven_and_not_before(world):
    saved = world.reconcile()

    counts = world.redrive(saved)
    again = world.received()
    before = world.api.get(world.batch_id).state
    world.api.ack(message["itemId"] for message in again.values())

    assert counts == {"sent": len(WITHHELD), "retried": 0, "acked": 0}
    assert same(again) == {index: each for index, each in same(world.first).items() if index in WITHHELD}
    assert (before, world.api.get(world.batch_id).state) == (State.CLOSED, State.COMPLETE)
    assert world.api.get(world.batch_id).result == "completed_with_failures"
    with pytest.raises(BatchIsOver, match=r"is COMPLETE since .* nothing was sent"):
        world.redrive(saved)
    assert world.received() == {}


def test_failed_items_are_sent_again_and_first_so_that_a_success_can_heal_them(world):
    counts = world.redrive(world.reconcile(), failed=True)
    again = world.received()
    world.api.ack(message["itemId"] for message in again.values())

    assert set(list(again)[: len(FAILED)]) == FAILED
    assert set(again) == WITHHELD | FAILED
    assert (counts["sent"], world.api.get(world.batch_id).result) == (len(again), "succeeded")


def test_what_was_acked_since_is_left_out_and_a_second_run_sends_the_rest_alone(world):
    saved = world.reconcile()
    world.api.ack(world.first[index]["itemId"] for index in (3, 61))
    world.api.ack([world.first[40]["itemId"]])

    counts = world.redrive(saved, failed=True)
    once = world.received()
    world.api.ack(once[index]["itemId"] for index in (15, 0))
    world.redrive(saved, failed=True)

    assert counts == {"sent": 6, "retried": 0, "acked": 3}
    assert set(once) == (WITHHELD | FAILED) - {3, 61, 40}
    assert set(world.received()) == set(once) - {15, 0}


def test_without_a_look_all_that_was_saved_is_sent(world):
    saved = world.reconcile()
    world.api.ack(world.first[index]["itemId"] for index in (3, 61))

    counts = world.redrive(saved, fresh=False)

    assert set(world.received()) == WITHHELD
    assert counts["acked"] == 0


def test_entries_that_fail_are_sent_again(world):
    seen = world.sqs.seen
    world.sqs.judge = lambda number: "InternalError" if number == seen + 2 else "accept"

    counts = world.redrive(world.reconcile())

    assert (counts["sent"], counts["retried"]) == (len(WITHHELD), 1)
    assert set(world.received()) == WITHHELD


@pytest.mark.parametrize("end", ["cancelled", "gone"])
def test_a_batch_that_is_over_is_not_redriven(world, end):
    saved = world.reconcile()
    if end == "cancelled":
        world.api.cancel(world.batch_id)
    else:
        table = {"TableName": world.tables.batches}
        keys = [
            row["pk"] for row in world.tables.client.scan(**table)["Items"] if row["sk"] == {"S": "batch"}
        ]
        world.tables.client.delete_item(**table, Key={"pk": keys[0], "sk": {"S": "batch"}})

    with pytest.raises(BatchIsOver, match="CANCELLED" if end == "cancelled" else "no longer exists"):
        world.redrive(saved)

    assert world.received() == {}


def test_the_job_says_what_it_would_cost_and_what_it_did(world, monkeypatch, capsys):
    monkeypatch.setattr(redrive, "spark_session", lambda name, cores: nullcontext(world.spark))
    saved, tables, queue = world.reconcile(), world.tables, world.sqs.queue
    places = ["--batches-table", tables.batches, "--pages-table", tables.pages, "--region", tables.region]
    ends = ["--tables-endpoint-url", tables.endpoint, "--endpoint-url", queue.endpoint]

    redrive.main(["--saved", saved, "--dry-run", "--failed"])
    before = world.received()
    redrive.main(["--saved", saved, "--queue-url", queue.url, *places, *ends, "--json"])

    estimate, *events = capsys.readouterr().out.splitlines()
    assert (estimate.startswith(f"{len(WITHHELD | FAILED)} messages: "), before) == (True, {})
    assert json.loads(events[-1]) == {"event": "redriven", "sent": 7, "retried": 0, "acked": 0}


def test_a_run_names_what_it_lacks(capsys):
    with pytest.raises(SystemExit):
        redrive.main(["--saved", "x", "--pages-table", "Pages"])

    assert "required: --queue-url, --batches-table" in capsys.readouterr().err


def test_a_mistake_of_the_caller_is_one_line(spark, monkeypatch, tmp_path):
    monkeypatch.setattr(redrive, "spark_session", lambda name, cores: nullcontext(spark))

    with pytest.raises(SystemExit, match="redrive: nothing that reconcile saved is at"):
        redrive.main(["--saved", str(tmp_path), "--dry-run"])


def test_what_is_missing_of_chunks_is_sent_again_in_chunks(world):
    counts = world.redrive(world.reconcile(), chunk=64)
    chunks = [chunk_of({"messageId": "m", "body": body}) for body in world.sqs.bodies]
    rows = {index: chunk.item(index).row for chunk in chunks for index in chunk.items.indexes}

    assert counts["sent"] == len(WITHHELD)
    assert rows == {index: world.first[index]["record"] for index in WITHHELD}
    assert len(chunks) < len(WITHHELD)
