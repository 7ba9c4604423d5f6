"""A record that kills its process fails its own item, and not the nine others of its delivery."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from tests.client import killed_consumer
from tests.client.poison import QueueModel

ITEMS = 10


@contextmanager
def function(url):
    """A function's process; yields what settles records: the ids that return, or None if it was killed."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, Path(killed_consumer.__file__), url]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    ) as process:

        def settle(records):
            process.stdin.write(json.dumps({"Records": records}) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            return answer and [each["itemIdentifier"] for each in answer["batchItemFailures"]]

        yield settle
        process.stdin.close()


def failed_items(fanin, settle, seed, poisoned, receives=3):
    """Work on a batch of ten items and its dead-letter messages; return the indexes of its failed items."""
    with fanin.open() as batch:
        items = batch.add(ITEMS)
    names = ["itemId" if number not in poisoned else "poison" for number in range(ITEMS)]
    bodies = [json.dumps({"itemId": item, name: item}) for name, item in zip(names, items, strict=True)]
    queue = QueueModel(bodies, receives, seed)
    while records := queue.receive():
        queue.settle(records, settle(records))
    dead = [{"messageId": f"d{n}", "body": body} for n, body in enumerate(queue.dead)]
    fanin.dead_letter_handler()({"Records": dead}, None)
    status = batch.status()
    failed = [int(item.rpartition(":")[2]) for part in batch.failures() for item in part]

    assert (status.state, status.acked, status.failed) == ("COMPLETE", ITEMS, len(failed))
    return failed


def test_the_item_of_a_record_that_kills_its_process_fails_alone(over_http, service):
    with function(service.url) as settle:
        for seed in range(8):
            assert failed_items(over_http, settle, seed, {seed}) == [seed]
