"""``fanin publish``, killed at random moments and run again: every row is sent, and the batch completes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from fanin import Fanin
from fanin.local import LocalRun
from tests.polling import eventually

ROOT = Path(__file__).resolve().parents[2]
ROWS = 120
RATE = 200
"""Messages a second, so that the sends take most of the time of a run."""
MOMENTS = [random.Random(seed).random() for seed in range(50)]
"""Parts of the time of a run."""


def new_queue(run: LocalRun) -> str:
    url: str = run.client("sqs").create_queue(QueueName=f"work-{uuid4().hex[:8]}")["QueueUrl"]
    return url


@pytest.fixture(scope="session")
def seconds(run: LocalRun, tmp_path_factory: pytest.TempPathFactory) -> float:
    """The time of a whole run."""
    started = time.monotonic()
    assert publish(run, rows(tmp_path_factory.mktemp("rows")), new_queue(run)).wait(60) == 0
    return time.monotonic() - started


def rows(folder: Path) -> Path:
    path = folder / f"rows-{uuid4().hex[:8]}.jsonl"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(ROWS)))
    return path


def publish(run: LocalRun, path: Path, queue: str) -> subprocess.Popen[str]:
    # No AWS of the environment: the command finds the queues of the run that its URL is of.
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "shared"), "FANIN_URL": run.url}
    command = [sys.executable, "-m", "fanin.cli.main", "publish", str(path), "--queue", queue]
    return subprocess.Popen(
        [*command, "--rate", str(RATE)],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def visible(run: LocalRun, queue: str) -> int:
    name = "ApproximateNumberOfMessages"
    found = run.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=[name])
    return int(found["Attributes"][name])


def sent(run: LocalRun, queue: str) -> dict[str, int]:
    """The row of each item id in the queue; one id never has two rows."""
    found: dict[str, int] = {}
    asked = {"QueueUrl": queue, "MaxNumberOfMessages": 10, "VisibilityTimeout": 600}
    while messages := run.client("sqs").receive_message(**asked).get("Messages"):
        for message in messages:
            body = json.loads(message["Body"])
            assert found.setdefault(body["itemId"], body["record"]["n"]) == body["record"]["n"]
    return found


def killed_and_run_again(run: LocalRun, path: Path, moment: float | None = None) -> None:
    """Without a *moment*, the first run is killed amid its messages."""
    queue = new_queue(run)
    first = publish(run, path, queue)
    if moment is None:
        assert eventually(lambda: visible(run, queue) >= ROWS // 4)
    else:
        with suppress(subprocess.TimeoutExpired):
            first.wait(moment)
    first.kill()
    first.wait()
    time.sleep(0.3)  # its last request may still be under way
    fanin = Fanin(run.url)
    again = publish(run, path, queue)
    out, _ = again.communicate(timeout=60)
    (batch,) = fanin.batches(user_key=path.stem)
    found = sent(run, queue)

    assert (again.returncode, out) == (0, f"{batch.batch_id}\n")
    assert batch.state == "CLOSED"
    assert sorted(found.values()) == list(range(ROWS))
    fanin.ack(list(found))
    assert fanin.status(batch.batch_id).result == "succeeded"


@pytest.mark.side_by_side
def test_killed_amid_its_messages_and_run_again_every_row_is_sent(run, tmp_path):
    killed_and_run_again(run, rows(tmp_path))


@pytest.mark.proof
@pytest.mark.parametrize("part", MOMENTS)
@pytest.mark.side_by_side
def test_killed_at_a_random_moment_and_run_again_every_row_is_sent(run, tmp_path, seconds, part):
    killed_and_run_again(run, rows(tmp_path), part * seconds)
