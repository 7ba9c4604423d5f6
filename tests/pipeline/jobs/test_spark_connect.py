"""Every job, and the data source, over a Spark Connect server.

One batch goes through all: fanned out, acked but for some, reconciled, redriven, audited, and completed.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

from fanin.tracker import State, Tracker
from pipeline.shared_by_jobs import session
from pipeline.table_frames.tables import Tables
from tests.change_archive.streams import record
from tests.pipeline.conftest import STARTUP, StubQueue, live_tables, recording_queue

ROWS = 30
"""Items, in four pages."""
CONNECT_SECONDS = 120
CONF = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "tests.pipeline.preloaded",
    "spark.connect.progress.reportInterval": "100ms",
}
JAVA = " ".join((*session.java_options(session.CLASS_ARCHIVE, "2"), "-XX:TieredStopAtLevel=1"))
LOG = Path(session.__file__).with_name("log4j2.properties").read_text().replace("error", "off")
"""Paths that are not there are expected, and their stack traces are not."""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A Spark Connect server with two slots, which has the project on its path; its URL."""
    port = free_port()
    conf = {**CONF, "spark.connect.grpc.binding.port": str(port)}
    submit = Path(pyspark.__file__).with_name("bin") / "spark-submit"
    names = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    main = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2,4]"]
    (folder / "sitecustomize.py").write_text(STARTUP)
    (folder / "log.properties").write_text(LOG)
    java = f"{JAVA} -Dlog4j2.configurationFile={(folder / 'log.properties').as_uri()}"
    path = os.pathsep.join(map(str, (folder, session.ROOT, session.ROOT / "shared")))
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": path}
    server = subprocess.Popen([submit, *main, *names, "--driver-java-options", java], env=env)
    try:
        wait_for(port, server)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def wait_for(port: int, server: subprocess.Popen) -> None:
    until = time.monotonic() + CONNECT_SECONDS
    while server.poll() is None and time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the Spark Connect server did not start")


@dataclass
class World:
    """The batch's tables and queue, a folder, and the client of the server."""

    call: Callable
    tables: Tables
    sqs: StubQueue
    folder: Path

    def path(self, name: str) -> str:
        return str(self.folder / name)

    @property
    def live(self) -> list[str]:
        names = ["--batches-table", self.tables.batches, "--pages-table", self.tables.pages]
        return [*names, "--region", self.tables.region, "--tables-endpoint-url", self.tables.endpoint]

    @property
    def queue(self) -> list[str]:
        return ["--queue-url", self.sqs.queue.url, "--endpoint-url", self.sqs.queue.endpoint]

    @property
    def source(self) -> dict[str, str]:
        names = ("batchesTable", "pagesTable", "region", "endpointUrl")
        return {"tenant": "tenant", **dict(zip(names, astuple(self.tables), strict=True))}


@pytest.fixture(scope="module")
def world(aws, tmp_path_factory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("connect")
    with zipfile.ZipFile(folder / "code.zip", "w") as archive:
        archive.writestr("sent_to_the_server.py", "KNOWN = 7")
    with live_tables(aws) as tables, recording_queue() as sqs, served(folder) as url:
        given = json.dumps({"code": str(folder / "code.zip"), "tables": astuple(tables)})
        command = [sys.executable, "-m", "tests.pipeline.over_connect", given]
        env = {**os.environ, "SPARK_REMOTE": url, "PYTHONPATH": os.pathsep.join(("shared", "."))}
        client = subprocess.Popen(command, stdin=-1, stdout=-1, env=env, text=True)

        def call(name: str, *arguments):
            client.stdin.write(json.dumps([name, arguments]) + "\n")
            client.stdin.flush()
            return json.loads(client.stdout.readline())

        yield World(call, tables, sqs, folder)
        client.communicate()


@pytest.fixture(scope="module")
def ids(world) -> list[str]:
    """The ids of the items that fan_out sent, in order."""
    rows = "".join(json.dumps({"number": number}) + "\n" for number in range(ROWS))
    Path(world.path("rows.jsonl")).write_text(rows)
    given = ["--dataset", world.path("rows.jsonl"), "--manifest", world.path("manifest"), *world.queue]
    assert world.call("fan_out", *given, "--api-url", "http://none", "--rate", "1000") is None
    return [message["itemId"] for message in sorted(world.sqs.messages, key=lambda m: m["record"]["number"])]


@pytest.fixture(scope="module")
def batch_id(world, ids) -> str:
    """The batch after bulk_ack: items 0 to 19 are acked, item 7 as failed."""
    lines = [{"item_id": one, "outcome": "failure" if one == ids[7] else "success"} for one in ids[:20]]
    log = "".join(json.dumps(line) + "\n" for line in [*lines, {"item_id": "junk", "outcome": "success"}])
    Path(world.path("acks.jsonl")).write_text(log)
    given = [world.path("acks.jsonl"), "--tenant", "tenant", "--engine", "spark", *world.live]
    assert world.call("bulk_ack", *given, "--rejects", world.path("rejects")) == 3  # for the junk
    return ids[0].partition(":")[0]


def saved(world: World, name: str) -> list[dict]:
    return pq.read_table(world.path(name)).to_pylist()


def test_each_row_is_sent_once_and_its_acks_are_folded(world, ids, batch_id):
    assert len(set(ids)) == len(ids) == ROWS
    stored = Tracker(world.tables.store).get("tenant", batch_id)
    assert (stored.state, stored.failed) == (State.CLOSED, 1)
    assert [row["refusal"] for row in saved(world, "rejects")] == ["malformed"]


@pytest.mark.proof
def test_outstanding_and_failed_rows_are_found_and_sent_again(world, ids, batch_id):
    given = ["--batch", batch_id, "--manifest", world.path("manifest"), "--out", world.path("found")]
    assert world.call("reconcile", *given, "--failed", "--rate", "1000", *world.live) is None
    assert sorted(row["position"] for row in saved(world, "found")) == [7, *range(20, ROWS)]

    world.sqs.bodies.clear()
    given = ["--saved", world.path("found"), "--failed", *world.queue]
    assert world.call("redrive", *given, *world.live) is None
    assert {message["itemId"] for message in world.sqs.messages} == {ids[7], *ids[20:]}


@pytest.mark.proof
def test_nothing_is_wrong_with_its_pages(world, batch_id):
    assert world.call("audit", "--out", world.path("findings"), *world.live) is None
    assert saved(world, "findings") == []


def test_the_data_source_reads_by_pushed_filters_and_writes_the_last_acks(world, ids, batch_id):
    asked = {**world.source, "batchId": batch_id, "pushDownPredicate": "true", "items": "all"}

    found = world.call("read", asked, "state = 'outstanding' AND position >= 18 AND position < 22")
    assert found == sorted(ids[20:22])
    world.call("write", world.source, ids[20:])

    assert Tracker(world.tables.store).get("tenant", batch_id).state is State.COMPLETE


def test_the_code_of_the_jobs_is_sent_to_the_server(world):
    assert world.call("sent") == 7


@pytest.mark.proof
def test_a_history_is_made_of_the_archive(world, ids, batch_id):
    for kind, table in (("batches", world.tables.batches), ("pages", world.tables.pages)):
        rows = world.tables.client.scan(TableName=table)["Items"]
        folder = Path(world.path(f"changes/table={kind}"))
        folder.mkdir(parents=True)
        # The archive has no salts.
        named = ({name: value for name, value in row.items() if name != "salt"} for row in rows)
        lines = (json.dumps(record(row)) for row in named)
        (folder / "rows.jsonl").write_text("\n".join(lines))

    given = ["--archive", world.path("changes"), "--out", world.path("history")]
    assert world.call("history", *given, "--manifest", f"{batch_id}={world.path('manifest')}") is None
    assert [row["batch_id"] for row in saved(world, "history/batches")] == [batch_id]


def test_arriving_logs_are_taken_once(world, batch_id):
    given = [world.path("acks.jsonl"), "--tenant", "tenant", "--rejects", world.path("r"), *world.live]
    given += ["--engine", "spark", "--checkpoint", world.path("checkpoint")]

    assert [world.call("bulk_ack", *given) for _ in range(2)] == [3, None], "the junk is in the first"
