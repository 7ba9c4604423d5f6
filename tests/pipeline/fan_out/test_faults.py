"""A driver of fan_out is killed: started again, it sends each row under the id that it had."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from fanin.tracker import Ack, State, Tracker
from pipeline.shared_by_jobs.session import ROOT
from tests.pipeline.conftest import StubQueue
from tests.pipeline.driver import ROWS, TENANT

DRIVER_SECONDS = 500.0
ACKS_AT_ONCE = 100
HELD = 2500
"""The item whose message the queue answers only once the driver is dead."""


@pytest.fixture
def held(monkeypatch):
    """Set once the queue has the message of the item HELD, which it does not answer the first time."""
    held, over, answer = threading.Event(), threading.Event(), StubQueue.answer

    def hold_back(stub, request):
        answered = answer(stub, request)
        indexes = [json.loads(each["MessageBody"])["itemId"].split(":")[2] for each in request["Entries"]]
        if str(HELD) in indexes and not held.is_set():
            held.set()
            over.wait(DRIVER_SECONDS)
        return answered

    monkeypatch.setattr(StubQueue, "answer", hold_back)
    yield held
    over.set()


@pytest.fixture
def start(tables, held, sqs, tmp_path):
    """Starts a driver; whatever is left of one is ended."""
    started: list[subprocess.Popen[str]] = []

    def begin() -> subprocess.Popen[str]:
        names = [tables.batches, tables.pages, tables.region, tables.endpoint]
        to = [sqs.queue.url, sqs.queue.region, sqs.queue.endpoint]
        options = {"tables": names, "queue": to, "manifest": str(tmp_path / "manifest")}
        command = [sys.executable, "-m", "tests.pipeline.driver", json.dumps(options)]
        env = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "shared")))}
        log = (tmp_path / f"driver-{len(started)}.log").open("w")
        pipe = {"stdout": subprocess.PIPE, "stderr": log, "text": True}
        started.append(subprocess.Popen(command, env=env, start_new_session=True, **pipe))
        return started[-1]

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def batch_of(printed: str) -> str:
    """The id of the batch that a driver opened or found."""
    events = map(json.loads, printed.splitlines())
    return next(event["batchId"] for event in events if event["event"] == "opened")


def check(sqs, tables, batch_id) -> Counter[str]:
    """Each row is one item, sent once at least; the items once acked, the batch completes for one caller."""
    sent = Counter(message["itemId"] for message in sqs.messages)
    pairs = {(message["itemId"], message["record"]["name"]) for message in sqs.messages}
    assert len(sent) == len(pairs) == len({name for _, name in pairs}) == ROWS
    tracker = Tracker(tables.store)
    acks = [Ack.of(item_id, item_id) for item_id in sent.elements()]
    reported = [
        completion
        for first in range(0, len(acks), ACKS_AT_ONCE)
        for completion in tracker.ack(TENANT, acks[first : first + ACKS_AT_ONCE]).completions
    ]
    assert tracker.get(TENANT, batch_id).state is State.COMPLETE
    assert len({completion.caller for completion in reported}) == 1
    return sent


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_a_driver_that_was_killed_is_started_again_and_finds_its_batch_and_its_ids(
    start, held, sqs, tables, tmp_path
):
    first, over = start(), time.monotonic() + DRIVER_SECONDS
    while not held.is_set() or len(sqs.bodies) < 1000:
        assert time.monotonic() < over, "the first driver did not come to send"
        assert first.poll() is None, "the first driver ended before it could be killed"
        time.sleep(0.1)
    os.killpg(first.pid, signal.SIGKILL)
    batch_id, before = batch_of(first.communicate()[0]), len(sqs.bodies)

    second = start()
    printed, _ = second.communicate(timeout=DRIVER_SECONDS)

    assert second.returncode == 0, (tmp_path / "driver-1.log").read_text()[-3000:]
    assert batch_of(printed) == batch_id
    assert ROWS < check(sqs, tables, batch_id).total() <= before + ROWS + 10
