"""The load at which each sweep has done all of its work within its minute: ``python -m lab.requests.sweeps``.

A sweep is bound by its CPU. The requests of its work are counted on moto; a function has the share of a vCPU
of its memory. The CPU of a request is assumed, and measured here against a server in another process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
from moto import mock_aws

from fanin.aws.dynamodb.meter import Meter
from fanin.grouper.dynamodb import DynamoStore as GrouperStore
from fanin.grouper.dynamodb import GrouperTables
from fanin.grouper.dynamodb import items as group_items
from fanin.grouper.rules.model import Task, TaskState
from fanin.pacing import each_in_turn
from fanin.queue import Effects, MemoryDoorbell, NewJob, Queue, QueueContext, QueueKey
from fanin.queue.dynamodb import DynamoStore as QueueStore
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.maintenance.rounds import LOOKED_UP
from fanin.queue.maintenance.visiting import visit
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.keys import PartKey
from fanin.settings.tracking import Tables
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.dynamodb import DynamoStore as TrackerStore
from fanin.tracker.rules.model import SHARDS
from fanin_cdk.grants.group_handlers import SWEEP_GROUPS
from fanin_cdk.grants.handlers import SWEEP, Handler
from fanin_cdk.grants.job_handlers import SWEEP_JOBS
from lab.requests.queue_reads import bytes_of
from tests.contract import moto_clients
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table
from tests.contract.tables import TABLES, create_tables

VCPU_MB = 1769
"""The memory of one vCPU ("Configure Lambda function memory" in the AWS Lambda Developer Guide)."""
REQUEST_MS, PAGE_MS = 2.0, 250.0
"""The CPU of a request for a few rows, and of one for a page of open tasks, on one vCPU: twice what an idle
machine needed, because a vCPU of Lambda is a hyperthread.
"""
PAGE_BYTES = 1_000_000
"""The bytes of a page of a query or scan: at most 1 MB."""
RUNS_AN_IDLE_VISIT = 5
RUNS_A_COUNT = 5
NOW = datetime(2026, 3, 1, tzinfo=UTC)
QUEUE = QueueKey("111122223333", "thumbnails")


@dataclass(frozen=True)
class Work:
    """What a sweep does in a minute for one of *name*: so many *requests*, each of *milliseconds* of CPU."""

    name: str
    handler: Handler
    requests: float
    milliseconds: float = REQUEST_MS

    @property
    def in_a_minute(self) -> int:
        """Return for how many of them a run needs a minute."""
        cpu = self.requests * self.milliseconds * VCPU_MB / self.handler.memory
        return int(60_000 / cpu)


def visited(config: QueueConfig, known_dead: int | None, jobs: int = 0) -> float:
    """Return the requests of one visit to a queue, with that which keeps what it found."""
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_queue_table(client)
        store, registry = QueueStore(client, QUEUE_TABLE), Registry(client, QUEUE_TABLE)
        context = QueueContext(store, MemoryDoorbell(), QUEUE, effects=Effects(each=each_in_turn))
        store.create(QUEUE, config)
        Queue(context).add_all([NewJob(str(number)) for number in range(jobs)])
        (listed,) = registry.last_visits([QUEUE])
        with counted(client) as meter:
            depth = visit(context, known_dead=known_dead)
            if depth is not None:
                registry.record(QUEUE, listed.visited(depth, known_dead, context.effects.now()))
        return meter.totals["requests"]


def of_queues() -> list[Work]:
    """Return the work of the sweep of work queues, which reads the last visit of each twice."""
    listing = 1 / 100 + 1 / LOOKED_UP
    now = Effects().now()
    used = QueueConfig(8)
    in_use = visited(used, 0, 20) + (visited(used, None, 20) - visited(used, 0, 20)) / RUNS_A_COUNT
    idle = visited(QueueConfig(8, idle_us=now), 0) / RUNS_AN_IDLE_VISIT
    handler = SWEEP_JOBS.lambda_
    return [
        Work("work queues in use, of 8 parts", handler, in_use + listing),
        Work("idle work queues, of 8 parts", handler, idle + 1 / 100),
    ]


def of_batches() -> list[Work]:
    """Return the work of the sweep of batches: for a check of a closed one, and for a deadline."""
    return [
        Work("checks of closed batches", SWEEP, swept(None)),
        Work("deadlines of batches", SWEEP, swept(timedelta(hours=1))),
    ]


def swept(deadline: timedelta | None, batches: int = 10) -> float:
    """Return the requests of a sweep for each batch that is due."""
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_tables(client)
        times = [NOW]
        tracker = Tracker(TrackerStore(client, Tables(*TABLES)), now=lambda: times[0])
        for number in range(batches):
            batch = tracker.open("t", OpenBatch(deadline=deadline)).batch_id
            tracker.add("t", batch, 1000)
            tracker.close("t", batch, f"{number}")
        times[0] += timedelta(hours=2)
        with counted(client) as meter:
            looked = tracker.sweep().looked
        assert looked == batches
        return (meter.totals["requests"] - 2 * SHARDS) / batches


def of_tasks() -> list[Work]:
    """Return the work of the sweep of the group-batcher: it reads the index of open tasks through."""
    return [Work("open tasks", SWEEP_GROUPS.lambda_, 1 / rows_a_page(), PAGE_MS)]


def rows_a_page() -> int:
    """Return how many open tasks one request reads."""
    return PAGE_BYTES // bytes_of(_open_task(1))


def _open_task(number: int) -> dict[str, Any]:
    """Return a row of the index of open tasks."""
    task = Task(
        "111122223333",
        f"order-{number:010d}",
        "orders-eu",
        "0",
        TaskState.CREATED,
        "{}",
        0,
        None,
        0,
        NOW,
        NOW,
        NOW,
    )
    row = group_items.task_item(task)
    shown = {"pk", "lane", "order", "tenant", "target", "shard", "taskId", "dueAt"}
    return {name: value for name, value in row.items() if name in shown}


@contextmanager
def counted(client: Any) -> Iterator[Meter]:
    """Yield a meter of the requests of *client* in the block."""
    yield Meter().attach(client)


def cpu_milliseconds(answer: bytes, request: Callable[[Any], object], times: int) -> float:
    """Return the CPU of this process for one *request* of a client whose answer is *answer*."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(answer)
        file.flush()
        command = [sys.executable, "-c", SERVER, file.name]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  # this Python
        try:
            assert server.stdout is not None
            client = _client(f"http://127.0.0.1:{server.stdout.readline().strip()}")
            request(client)
            began = time.process_time()
            for _ in range(times):
                request(client)
            return (time.process_time() - began) / times * 1000
        finally:
            server.kill()
            server.wait()


def _client(url: str) -> Any:
    session = boto3.Session("x", "x", region_name="us-east-1")
    client = session.client("dynamodb", endpoint_url=url)
    Meter().attach(client)
    return client


SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
answer = open(sys.argv[1], "rb").read()
class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    def log_message(self, *_):
        pass
server = HTTPServer(("127.0.0.1", 0), Answering)
print(server.server_port, flush=True)
server.serve_forever()
"""
"""A server in a process of its own, which takes none of this one's CPU."""


def measured() -> tuple[float, float]:
    """Return the CPU milliseconds of a request for a few rows, and of a page of open tasks."""
    few = json.dumps({"Items": [], "Count": 0, "ScannedCount": 0}).encode()
    rows = [_open_task(number) for number in range(rows_a_page())]
    page = json.dumps({"Items": rows, "Count": len(rows), "ScannedCount": len(rows)}).encode()
    tables = GrouperTables("tasks", "leases", "bundles")
    part = PartKey(QUEUE, 0)
    return (
        cpu_milliseconds(few, lambda client: QueueStore(client, QUEUE_TABLE).first(part, 16), 1000),
        cpu_milliseconds(page, lambda client: GrouperStore(client, tables).open_tasks(None), 10),
    )


def table() -> list[str]:
    """Return the rows of the table of docs/operations_reference.md."""
    works = (*of_queues(), *of_batches(), *of_tasks())
    return [
        f"| {each.name} | {each.requests:.2g} | {each.handler.memory:,} | {each.in_a_minute:,} |"
        for each in works
    ]


def main() -> None:
    """Print the table, and what is measured here of what it assumes."""
    request, page = measured()
    print("\n".join(table()))
    print(f"CPU of a request: {request:.1f} ms; of a page of {rows_a_page():,} open tasks: {page:.0f} ms")


if __name__ == "__main__":
    main()
