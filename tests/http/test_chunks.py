"""Chunks over HTTP: a file is published by the command, and a consumer works on its items one by one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from fanin import Fanin
from fanin.local import LocalRun

ROOT = Path(__file__).resolve().parents[2]
ROWS = 10


def queue_of(run: LocalRun) -> str:
    name, shown_at_once = f"work-{uuid4().hex[:8]}", {"VisibilityTimeout": "0"}
    url: str = run.client("sqs").create_queue(QueueName=name, Attributes=shown_at_once)["QueueUrl"]
    return url


def published(run: LocalRun, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT / "shared"), str(ROOT)])
    environment = {**os.environ, **run.environment, "PYTHONPATH": paths, "FANIN_URL": run.url}
    command = [sys.executable, "-m", "fanin.cli.main", "publish", *arguments]
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=False, timeout=60)


def delivery(run: LocalRun, queue: str) -> list[dict[str, Any]]:
    """A delivery of the queue, as Lambda passes it."""
    received = run.client("sqs").receive_message(
        QueueUrl=queue, MaxNumberOfMessages=10, AttributeNames=["ApproximateReceiveCount"]
    )
    return [
        {
            "messageId": message["MessageId"],
            "body": message["Body"],
            "attributes": message["Attributes"],
            "receiptHandle": message["ReceiptHandle"],
        }
        for message in received.get("Messages", [])
    ]


@pytest.mark.side_by_side
def test_a_file_is_published_in_chunks_and_each_item_is_worked_on_until_it_is_done(run, tmp_path):
    queue = queue_of(run)
    name = f"rows-{uuid4().hex[:8]}"
    path = tmp_path / f"{name}.jsonl"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(ROWS)))
    done = published(run, str(path), "--queue", queue, "--chunk", "4")
    batch_id = done.stdout.strip()
    fanin, worked = Fanin(run.url), Counter()

    @fanin.acks_each(fail_after=3)
    def handler(item: Any) -> None:
        worked[item.row["n"]] += 1
        if item.row["n"] == 5 or (item.row["n"] == 2 and worked[2] == 1):
            raise ValueError("not yet")

    for _ in range(20):
        records = delivery(run, queue)
        answer = handler({"Records": records}, None)["batchItemFailures"]
        returned = {each["itemIdentifier"] for each in answer}
        for record in records:
            if record["messageId"] not in returned:
                run.client("sqs").delete_message(QueueUrl=queue, ReceiptHandle=record["receiptHandle"])
        if sum(worked.values()) == ROWS + 3:
            break
    status = fanin.get(batch_id)

    assert (done.returncode, status.user_key, status.total) == (0, name, ROWS)
    assert (status.result, status.acked, status.failed) == ("completed_with_failures", ROWS, 1)
    assert worked == Counter({**dict.fromkeys(range(ROWS), 1), 2: 2, 5: 3})
    assert [sample.reason for sample in fanin.samples(batch_id)] == ["ValueError: not yet"]
