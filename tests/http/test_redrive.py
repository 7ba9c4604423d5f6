"""``fanin redrive`` on the local run: messages that SQS itself moved to a dead-letter queue."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from fanin import Fanin
from fanin.local.work.source import source_of

ROOT = Path(__file__).resolve().parents[2]


def redrive(run, *arguments):
    # No AWS of the environment: the command finds the queues of the run that its URL is of.
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "shared"), "FANIN_URL": run.url}
    command = [sys.executable, "-m", "fanin.cli.main", "redrive", *arguments]
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=False)


def received(sqs, url):
    return sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])


@pytest.mark.side_by_side
def test_what_can_be_done_returns_to_its_queue_and_the_rest_stays(run):
    sqs, fanin = run.client("sqs"), Fanin(run.url)
    source = source_of(sqs, f"work-{uuid4().hex[:8]}", visibility=0, receives=1)
    live, over = fanin.open(), fanin.open()
    items = [*live.add(3), *over.add(1)]
    for item in items:
        sqs.send_message(QueueUrl=source.url, MessageBody=item)
    for _ in range(4):
        received(sqs, source.url)
    over.cancel()
    live.close()
    fanin.fail([items[0]]), fanin.ack([items[1]])
    done = redrive(run, source.dead, "--json")

    assert json.loads(done.stdout) == {
        "moved": 2,
        "left": {"done": 1, "ended": 1},
        "unseen": 0,
        "copies": 0,
        "dryRun": False,
    }
    assert done.returncode == 0
    assert {each["Body"] for each in received(sqs, source.url)} == {items[0], items[2]}
    dead = sqs.get_queue_url(QueueName=source.dead)["QueueUrl"]
    assert {each["Body"] for each in received(sqs, dead)} == {items[1], items[3]}
    fanin.ack([items[0], items[2]])
    assert live.status().result == "succeeded"
