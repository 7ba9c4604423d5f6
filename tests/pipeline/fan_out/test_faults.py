"""fan_out while its tasks fail, are copied by speculation, and its driver is killed: each row is one item."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

import pytest

from fanin.tracker import Ack, State, Tracker
from pipeline.spark.session import ROOT
from tests.pipeline.cluster import cluster, has_both_hosts
from tests.pipeline.conftest import StubQueue
from tests.pipeline.driver import ROWS, TENANT

pytestmark = pytest.mark.proof
DRIVER_SECONDS = 500.0
ACKS_AT_ONCE = 100
EAGER = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": os.environ["SPARK_DAEMON_JAVA_OPTS"],
    "spark.executor.instances": "2",
    "spark.default.parallelism": "2",
}


@dataclass
class Faults:
    """What the queue does beside taking messages: it refuses one entry once, and once is silent."""

    refuse: int | None = None
    sit_on: int | None = None
    seconds: float = 120.0
    happened: set[int] = field(default_factory=set)

    def refused(self, indexes: list[int]) -> int | None:
        """The index that is refused now, if any."""
        if self.refuse not in indexes or self.refuse in self.happened:
            return None
        self.happened.add(self.refuse)
        return self.refuse

    def hold_back(self, indexes: list[int], over: threading.Event) -> None:
        """Let the answer wait where it is to sit on one."""
        if self.sit_on in indexes and self.sit_on not in self.happened:
            self.happened.add(self.sit_on)
            over.wait(self.seconds)


@pytest.fixture
def queue(sqs, monkeypatch):
    """The recording queue, with *faults* to be set."""
    over, take = threading.Event(), StubQueue.answer
    sqs.faults = Faults()

    def answer(stub, request):
        entries = {index_of(entry["MessageBody"]): entry for entry in request["Entries"]}
        refused = stub.faults.refused(list(entries))
        kept = [entry for index, entry in entries.items() if index != refused]
        reported = take(stub, {"Entries": kept})
        if refused is not None:
            reported["Failed"].append({"Id": entries[refused]["Id"], "Code": "refuse", "SenderFault": True})
        stub.faults.hold_back(list(entries), over)
        return reported

    monkeypatch.setattr(StubQueue, "answer", answer)
    yield sqs
    over.set()


def index_of(body: str) -> int:
    return int(json.loads(body)["itemId"].rpartition(":")[2])


@pytest.fixture
def start(tables, queue, tmp_path):
    """Starts a driver; whatever is left of one is ended."""
    started: list[subprocess.Popen[str]] = []

    def begin(**more) -> subprocess.Popen[str]:
        names = [tables.batches, tables.pages, tables.region, tables.endpoint]
        to = [queue.queue.url, queue.queue.region, queue.queue.endpoint]
        options = {"tables": names, "queue": to, "manifest": str(tmp_path / "manifest"), **more}
        env = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "shared")))}
        log = (tmp_path / f"driver-{len(started)}.log").open("w")
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "tests.pipeline.driver", json.dumps(options)],
                env=env,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        )
        return started[-1]

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def finish(process, tmp_path) -> dict[str, dict]:
    """The driver's events by name, once it has ended well."""
    reported, _ = process.communicate(timeout=DRIVER_SECONDS)
    logs = "\n".join(log.read_text()[-3000:] for log in tmp_path.glob("driver-*.log"))
    assert process.returncode == 0, logs
    return {event["event"]: event for event in map(json.loads, reported.splitlines())}


def check(queue, tables, batch_id) -> Counter[str]:
    """Each row is one item, sent once at least; the items once acked, the batch completes for one caller."""
    sent = Counter(message["itemId"] for message in queue.messages)
    records = {message["itemId"]: message["record"] for message in queue.messages}
    assert len(sent) == len({record["name"] for record in records.values()}) == ROWS
    pairs = {(message["itemId"], message["record"]["name"]) for message in queue.messages}
    assert len(pairs) == ROWS
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


@pytest.mark.timeout(1200)
def test_failed_tasks_and_speculative_copies_only_repeat_messages(start, queue, tables, tmp_path):
    if not has_both_hosts():
        pytest.skip("speculation needs two hosts, and 127.0.0.2 is no address of this system")
    queue.faults = Faults(refuse=2800, sit_on=3)
    with cluster(tmp_path) as master:
        events = finish(start(settings={**EAGER, "spark.master": master}, trouble=True), tmp_path)

    sent = check(queue, tables, events["opened"]["batchId"])

    repeated = {int(item_id.rpartition(":")[2]) for item_id, count in sent.items() if count > 1}
    assert 3 in repeated, "no copy of the task that was sat upon was started"
    assert repeated & set(range(2700, 2800)), "the task that failed was not run again"


@pytest.mark.timeout(1200)
def test_a_driver_that_was_killed_is_started_again_and_finds_its_batch_and_its_ids(
    start, queue, tables, tmp_path
):
    queue.faults = Faults(sit_on=2500, seconds=DRIVER_SECONDS)
    first = start()
    over = time.monotonic() + DRIVER_SECONDS
    while 2500 not in queue.faults.happened or len(queue.bodies) < 1000:
        assert time.monotonic() < over, "the first driver did not come to send"
        assert first.poll() is None, "the first driver ended before it could be killed"
        time.sleep(0.1)
    os.killpg(first.pid, signal.SIGKILL)
    opened = next(
        event for event in map(json.loads, first.communicate()[0].splitlines()) if "batchId" in event
    )
    before = len(queue.bodies)

    events = finish(start(), tmp_path)

    assert events["opened"]["batchId"] == opened["batchId"]
    sent = check(queue, tables, opened["batchId"])
    assert ROWS < sent.total() <= before + ROWS + 10
