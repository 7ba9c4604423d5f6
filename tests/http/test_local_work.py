"""``fanin local work`` in a folder outside the tree: the README's consumer works on published rows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from fanin import Fanin
from fanin.local import LocalRun
from fanin.local.work.source import dead_letter_queue_name
from tests.polling import eventually

ROOT = Path(__file__).resolve().parents[2]
APP = """
from fanin import Fanin

fanin = Fanin()

@fanin.acks
def handler(record):
    if '"n": 3' in record["body"]:
        raise ValueError("no picture")
"""


@contextmanager
def work(run: LocalRun, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command at work, and the name of its queue."""
    queue = f"work-{uuid4().hex[:8]}"
    (tmp_path / "app.py").write_text(APP)
    options = ["--queue", queue, "--port", str(run.port), "--visibility", "0", "--max-receives", "2"]
    started = subprocess.Popen(
        [sys.executable, "-m", "fanin.cli.main", "local", "work", "app:handler", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "shared")},
        text=True,
        stderr=subprocess.PIPE,
    )
    try:
        yield started, queue
    finally:
        started.kill()
        started.wait()
        started.stderr.close()


def length(run: LocalRun, queue: str) -> int:
    sqs = run.client("sqs")
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    facts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return int(facts["ApproximateNumberOfMessages"])


@pytest.mark.side_by_side
def test_items_are_worked_on_failures_are_dead_letter_messages_and_ctrl_c_ends_it(run, tmp_path):
    with work(run, tmp_path) as (started, queue):
        is_worked_on(run, started, queue)


def is_worked_on(run: LocalRun, started: subprocess.Popen[str], queue: str) -> None:
    lines = [started.stderr.readline()]  # the queue is made by now
    sqs = run.client("sqs")
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    with Fanin(run.url).open() as batch:
        for n, item in enumerate(batch.add(5)):
            sqs.send_message(QueueUrl=url, MessageBody=f'{{"itemId": "{item}", "record": {{"n": {n}}}}}')

    assert eventually(lambda: batch.status().acked == 4)
    assert eventually(lambda: length(run, dead_letter_queue_name(queue)) == 1)
    started.send_signal(signal.SIGINT)
    lines += started.stderr.readlines()
    assert started.wait(60) == 0
    assert f"dead-letter queue {dead_letter_queue_name(queue)}" in lines[0]
    assert any("ValueError: no picture" in line for line in lines)
    assert lines[-1] == "stopped\n"
    assert not [line for line in lines if "KeyboardInterrupt" in line]
