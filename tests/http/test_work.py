"""``fanin work``: workers of a queue outside of Lambda, each a process, stopped, killed and frozen."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from fanin import Batch, Fanin
from fanin.local import LocalRun
from tests.polling import eventually

VISIBILITY = 5
PAGE = (Path(__file__).parents[2] / "docs" / "work.md").read_text()
OF_PAGE = dict(re.findall(r'```python title="(.*?)"\n(.*?)```', PAGE, re.DOTALL))
APP = """
import asyncio, json, os, time
from fanin import Fanin

fanin = Fanin()

def note(kind, record):
    with open("notes", "a") as file:
        print(kind, os.getpid(), record["body"], file=file)

def work(record):
    note("starts", record)
    time.sleep(float(os.environ.get("SECONDS", 0)))
    note("ends", record)

acked = fanin.acks(fail_after=3)(work)

async def awaited(record):
    note("starts", record)
    await asyncio.sleep(0.5)
    note("ends", record)

def one_ends_its_process(record):
    note("starts", record)
    if record["body"].endswith(":3"):
        os._exit(9)
    note("ends", record)

@fanin.acks_each
def chunked(item):
    note("ends", {"body": item.id})
"""


class Worker:
    """A process of ``fanin work`` on a queue of its own."""

    def __init__(self, run: LocalRun, folder: Path) -> None:
        self.run, self.folder, self.sqs, self.fanin = run, folder, run.client("sqs"), Fanin(run.url)
        (folder / "app.py").write_text(APP)
        self.url = self.sqs.create_queue(
            QueueName=f"work-{uuid4().hex[:8]}", Attributes={"VisibilityTimeout": str(VISIBILITY)}
        )["QueueUrl"]
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, handler: str, *options: str, **environment: str) -> subprocess.Popen[str]:
        spec = handler if ":" in handler else f"app:{handler}"
        command = [sys.executable, "-m", "fanin.cli.main", "work", spec, "--queue", self.url]
        own = {**os.environ, **self.run.environment, **environment, "no_proxy": "127.0.0.1"}
        own["PYTHONPATH"] = os.pathsep.join(each for each in sys.path if each)
        process = subprocess.Popen(
            [*command, *options], cwd=self.folder, env=own, stderr=subprocess.PIPE, text=True
        )
        self.processes.append(process)
        return process

    def send(self, *bodies: str) -> None:
        for body in bodies:
            self.sqs.send_message(QueueUrl=self.url, MessageBody=body)

    def notes(self, kind: str) -> list[tuple[int, str]]:
        """What the workers noted of a kind: process id and body."""
        path = self.folder / "notes"
        lines = [line.split(maxsplit=2) for line in path.read_text().splitlines()] if path.exists() else []
        return [(int(pid), body) for each, pid, body in lines if each == kind]

    def stopped(self, process: subprocess.Popen[str]) -> str:
        """Stop a worker and return what it wrote."""
        process.send_signal(signal.SIGTERM)
        return process.communicate(timeout=60)[1]

    def in_queue(self) -> tuple[int, int]:
        """How many messages are visible, and how many are hidden."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return int(found[names[0]]), int(found[names[1]])


@pytest.fixture(scope="module")
def start_queue(run: LocalRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Worker]]:
    """Makes a queue with a folder of an app; its workers are killed at the end."""
    found: list[Worker] = []

    def make() -> Worker:
        found.append(Worker(run, tmp_path_factory.mktemp("app")))
        return found[-1]

    yield make
    for process in [process for worker in found for process in worker.processes]:
        process.kill()
        process.wait()


def opened(worker: Worker, count: int) -> Batch:
    """Open a batch of so many items, and send their messages."""
    with worker.fanin.open() as batch:
        worker.send(*batch.add(count))
    return batch


@pytest.mark.side_by_side
@pytest.mark.parametrize(
    "handler", ["awaited", *(pytest.param(each, marks=pytest.mark.proof) for each in ("work", "acked"))]
)
def test_all_items_of_a_batch_are_worked_on_and_sigterm_ends_the_worker(
    start_queue: Any, handler: str
) -> None:
    worker = start_queue()
    process, batch = worker.start(handler, "--concurrency", "20"), opened(worker, 20)

    assert eventually(lambda: batch.status().result) == "succeeded"
    log = worker.stopped(process)
    assert process.returncode == 0
    assert "20 messages deleted" in log
    assert len(worker.notes("ends")) == 20
    assert worker.in_queue() == (0, 0)


@pytest.mark.side_by_side
@pytest.mark.parametrize("file", ["app.py", "waiting.py"])
def test_the_examples_of_the_page_work(start_queue: Any, file: str) -> None:
    worker = start_queue()
    (worker.folder / file).write_text(OF_PAGE[file])
    with worker.fanin.open() as batch:
        worker.send(*(json.dumps({"itemId": item}) for item in batch.add(3)))
    worker.start(f"{file.removesuffix('.py')}:handler")

    assert eventually(lambda: batch.status().result) == "succeeded"


@pytest.mark.proof
@pytest.mark.side_by_side
def test_chunks_are_worked_on_item_by_item(start_queue: Any) -> None:
    worker = start_queue()
    with worker.fanin.open() as batch:
        worker.send(*(chunk.message() for chunk in batch.add(40).chunks(16)))
    worker.start("chunked")

    assert eventually(lambda: batch.status().result) == "succeeded"
    assert len(worker.notes("ends")) == 40


@pytest.mark.side_by_side
def test_the_work_of_a_killed_worker_is_done_by_another(start_queue: Any) -> None:
    worker = start_queue()
    batch = opened(worker, 5)
    killed = worker.start("work", SECONDS="60")
    assert eventually(lambda: len(worker.notes("starts")) == 5)
    killed.kill()
    killed.communicate()
    other = worker.start("work")

    assert eventually(lambda: batch.status().result) == "succeeded"
    assert {pid for pid, _ in worker.notes("ends")} == {other.pid}


@pytest.mark.proof
@pytest.mark.side_by_side
def test_work_that_takes_longer_than_the_visibility_timeout_is_done_once(start_queue: Any) -> None:
    worker = start_queue()
    batch = opened(worker, 2)
    first = worker.start("work", SECONDS=str(2.5 * VISIBILITY))
    assert eventually(lambda: len(worker.notes("starts")) == 2)
    worker.start("work")

    assert eventually(lambda: batch.status().result) == "succeeded"
    assert {pid for pid, _ in worker.notes("starts")} == {first.pid}


@pytest.mark.proof
@pytest.mark.side_by_side
def test_a_frozen_worker_loses_its_messages_says_so_and_does_not_start_them(start_queue: Any) -> None:
    worker = start_queue()
    batch = opened(worker, 3)
    frozen = worker.start("work", "--concurrency", "1", SECONDS="3")
    assert eventually(lambda: worker.notes("starts"))
    frozen.send_signal(signal.SIGSTOP)
    other = worker.start("work")
    assert eventually(lambda: batch.status().result) == "succeeded"
    frozen.send_signal(signal.SIGCONT)
    time.sleep(1)
    log = worker.stopped(frozen)

    assert "the visibility timeout of message" in log
    assert len([pid for pid, _ in worker.notes("starts") if pid == frozen.pid]) == 1
    assert len([pid for pid, _ in worker.notes("starts") if pid == other.pid]) == 3


@pytest.mark.side_by_side
def test_at_the_end_of_its_time_a_worker_that_stops_returns_what_is_under_work(start_queue: Any) -> None:
    worker = start_queue()
    opened(worker, 4)
    process = worker.start("work", "--concurrency", "2", "--grace", "3", SECONDS="60")
    assert eventually(lambda: len(worker.notes("starts")) == 2)
    log = worker.stopped(process)

    assert process.returncode == 3
    assert "2 messages return to the queue, their work was not done in time" in log
    assert worker.in_queue() == (4, 0)


@pytest.mark.proof
@pytest.mark.side_by_side
def test_an_item_that_ends_its_process_takes_no_other_along(start_queue: Any) -> None:
    worker = start_queue()
    dead = worker.sqs.create_queue(QueueName=f"dead-{uuid4().hex[:8]}")["QueueUrl"]
    names = worker.sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]
    policy = f'{{"deadLetterTargetArn": "{names["QueueArn"]}", "maxReceiveCount": 3}}'
    worker.sqs.set_queue_attributes(QueueUrl=worker.url, Attributes={"RedrivePolicy": policy})
    batch = opened(worker, 6)
    process = worker.start("one_ends_its_process")

    def is_over() -> bool:
        nonlocal process
        if process.poll() is not None:
            process = worker.start("one_ends_its_process")
        return sum(worker.in_queue()) == 0

    assert eventually(is_over)
    assert batch.status().acked == 5
    (message,) = worker.sqs.receive_message(QueueUrl=dead)["Messages"]
    assert message["Body"].endswith(":3")


@pytest.mark.side_by_side
@pytest.mark.parametrize(
    ("handler", "queue", "code", "sentence"),
    [
        pytest.param(
            "app:absent", "{url}", 2, "app has no absent; check APP:HANDLER", marks=pytest.mark.proof
        ),
        ("app:work", "{url}-absent", 1, "there is no queue http"),
        pytest.param("nowhere:work", "{url}", 2, "there is no module nowhere", marks=pytest.mark.proof),
        pytest.param("app:work", "absent", 1, "there is no queue 'absent'", marks=pytest.mark.proof),
    ],
)
def test_a_wrong_handler_or_queue_is_reported_at_once(
    start_queue: Any, handler: str, queue: str, code: int, sentence: str
) -> None:
    worker = start_queue()
    worker.url = queue.format(url=worker.url)
    process = worker.start(handler)
    _, log = process.communicate(timeout=60)

    assert process.returncode == code
    assert sentence in log
