"""What a job sends to DynamoDB is what its role is granted: every request of driver and executors is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler

import pytest
import urllib3

from fanin.tracker import Ack, OpenBatch, Outcome, Tracker
from infra.pipeline_jobs import JOBS
from pipeline import entry
from pipeline.fan_out import manifest
from pipeline.shared_by_jobs import datasets
from pipeline.table_audit import recheck
from pipeline.table_frames.tables import Tables
from tests.pipeline.conftest import served_on_loopback

ITEMS = 56
PAGE_BITS = 16
KEPT_HEADERS = ("Content-Type", "X-Amz-Target", "Authorization", "X-Amz-Date")
ORDER = ("reconcile", "redrive", "bulk_ack", "audit")
"""The jobs, each on what the one before left; the audit comes last, as its batch is deleted first."""
# Sent only where a refused write does not bring along what stands in its way.
FALLBACK = {
    "bulk_ack": {("dynamodb:GetItem", "batches"), ("dynamodb:BatchGetItem", "pages")},
    # Without the tenant.
    "reconcile": {("dynamodb:Scan", "batches"), ("dynamodb:Scan", "pages")},
}


@dataclass
class Witness:
    """Stands before DynamoDB, hands every request on, and keeps which actions were asked on which table."""

    endpoint: str
    tables: dict[str, str]
    actions: set[tuple[str, str]] = field(default_factory=set)
    pool: urllib3.PoolManager = field(default_factory=urllib3.PoolManager)
    url: str = ""

    def note(self, operation: str, request: dict) -> None:
        if operation == "TransactWriteItems":
            parts = [next(iter(item.items())) for item in request["TransactItems"]]
            asked = [(f"{kind}Item", part["TableName"]) for kind, part in parts]
        elif operation == "BatchExecuteStatement":
            verbs = [each["Statement"].replace('"', "").split() for each in request["Statements"]]
            asked = [(f"PartiQL{verb.capitalize()}", name) for verb, _, name, *_ in verbs]
        else:
            names = request.get("RequestItems") or [request["TableName"]]
            asked = [(operation, name) for name in names]
        self.actions |= {(f"dynamodb:{action}", self.tables[name]) for action, name in asked}


def _handler(witness: Witness) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            witness.note(self.headers["X-Amz-Target"].partition(".")[2], json.loads(body))
            headers = {name: self.headers[name] for name in KEPT_HEADERS if name in self.headers}
            answer = witness.pool.request("POST", witness.endpoint, body=body, headers=headers)
            self.send_response(answer.status)
            for name in ("Content-Type", "x-amz-crc32"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.send_header("Content-Length", str(len(answer.data)))
            self.end_headers()
            self.wfile.write(answer.data)

        def log_message(self, format: str, *args) -> None:
            """Tests log no requests."""

    return Handler


@pytest.fixture
def witness(tables) -> Iterator[Witness]:
    witness = Witness(tables.endpoint, {tables.batches: "batches", tables.pages: "pages"})
    with served_on_loopback(_handler(witness)) as port:
        witness.url = f"http://127.0.0.1:{port}"
        yield witness


class World:
    """A dataset that was fanned out, but for its messages: a batch of four pages, some of it acked."""

    def __init__(self, spark, tables: Tables, folder) -> None:
        self.folder, self.tracker = folder, Tracker(tables.store, page_bits=PAGE_BITS)
        self.batch_id = self.tracker.open("tenant", OpenBatch()).batch_id
        self.group = self.tracker.add("tenant", self.batch_id, ITEMS).groups[0]
        self.tracker.close("tenant", self.batch_id, "closer")
        self.tracker.ack("tenant", [Ack(self.batch_id, self.group.id, 0, 20, "me")])
        self.spark = spark

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def reconcile(self, *_) -> list[str]:
        dataset = datasets.read_dataset(self.spark, str(datasets.CATALOG_SLICE), ITEMS)
        manifest.write(dataset, self.path("manifest"), run="r", source="s")
        named = ["--batch", self.batch_id, "--manifest", self.path("manifest"), "--tenant", "tenant"]
        return [*named, "--out", self.path("found")]

    def redrive(self, _, queue) -> list[str]:
        return ["--saved", self.path("found"), "--queue-url", queue.url, "--endpoint-url", queue.endpoint]

    def audit(self, tables, _) -> list[str]:
        # Pages of a batch that is not there: a Scan may have met them before their batch.
        key = {"pk": {"S": f"{self.tracker.get('tenant', self.batch_id).key}"}, "sk": {"S": "batch"}}
        tables.client.delete_item(TableName=tables.batches, Key=key)
        return []

    def bulk_ack(self, *_) -> list[str]:
        outcomes = {
            index: Outcome.FAILURE if index in (14, 21) else Outcome.SUCCESS for index in range(10, ITEMS)
        }
        rows = [
            {"item_id": f"{self.batch_id}:{self.group.id}:{index}", "outcome": str(outcome), "reason": "why"}
            for index, outcome in outcomes.items()
        ]
        (self.folder / "acks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return [self.path("acks.jsonl"), "--tenant", "tenant", "--rejects", self.path("rejects")]


@pytest.fixture
def sent_by(spark, tables, sqs, witness, tmp_path, monkeypatch):
    """Runs a job on what the jobs before it left; what it sent."""
    world = World(spark, tables, tmp_path)
    seen = replace(tables, endpoint=witness.url)
    live = ["--batches-table", seen.batches, "--pages-table", seen.pages, "--region", seen.region]
    monkeypatch.setattr(recheck, "SECONDS_BETWEEN", 0)

    def run(name: str) -> set[tuple[str, str]]:
        module = entry.job(name)
        monkeypatch.setattr(module, "spark_session", lambda name, cores: nullcontext(spark), raising=False)
        arguments = getattr(world, name)(tables, sqs.queue)
        witness.actions = set()
        with pytest.raises(SystemExit) if name == "audit" else nullcontext():
            module.main([*arguments, *live, "--tables-endpoint-url", seen.endpoint])
        return witness.actions

    return run


# The others are four Spark jobs, each on what the one before left.
@pytest.mark.parametrize("names", [["bulk_ack"], pytest.param(ORDER, marks=pytest.mark.proof)])
def test_each_job_is_granted_what_it_sends_and_no_more(sent_by, names):
    granted = {job.name: job for job in JOBS if job.batches or job.pages}
    assert set(granted) == set(ORDER)
    for name in names:
        job, sent = granted[name], sent_by(name)
        grants = {(action, "batches") for action in job.batches} | {(action, "pages") for action in job.pages}

        assert sent <= grants, name
        assert grants - sent <= FALLBACK.get(name, set()), name
