"""One Spark session for the room, a queue that records what it is sent, and a tracker in memory."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pyarrow import RecordBatch, Table, concat_tables
from pyspark import TaskContext
from pyspark.sql import SparkSession

from fanin import Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.local.emulator_process import emulator
from fanin.local.emulator_process.connection import CREDENTIALS, REGION, Connection
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from pipeline.compiled_fold import building, groups, loading
from pipeline.fan_out.send import Queue
from pipeline.shared_by_jobs.session import started_session
from pipeline.table_frames import frames
from pipeline.table_frames.tables import Tables
from tests.contract.tables import TABLES, create_tables

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
    # To compile a query takes longer than to interpret it over a few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # So does to plan it anew after each stage, and to describe each plan for pages that no test opens.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
    "spark.python.daemon.module": "tests.pipeline.preloaded",
    # By TCP, each task waits 40 ms for a delayed acknowledgement.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.executorEnv.AWS_ACCESS_KEY_ID": "none",
    "spark.executorEnv.AWS_SECRET_ACCESS_KEY": "none",
}


STARTUP = "import sys; sys.path[:] = [path for path in sys.path if not path.endswith(('.zip', '.jar'))]\n"
"""What the processes that plan a data source start with: they know no daemon module, and would compile Spark
anew from its zip file. See tests/pipeline/preloaded.py.
"""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    startup = tmp_path_factory.mktemp("startup")
    (startup / "sitecustomize.py").write_text(STARTUP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(startup), prepend=os.pathsep)
        started = started_session("tests", "2", SETTINGS)
    with started as session:
        # Forced failures are expected here, and their stack traces are not.
        session.sparkContext.setLogLevel("OFF")
        yield session


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The kernel of bulk_ack, compiled from the source of this tree."""
    if loading.this_machine() not in building.compilers():
        pytest.skip("there is no C compiler, cc")
    folder = tmp_path_factory.mktemp("kernel")
    shutil.copy(building.HERE / loading.SOURCE, folder)
    building.build(folder)
    loaded = loading.load(folder)
    assert loaded
    return loaded


@pytest.fixture(scope="module", params=["numpy", "kernel"])
def way_to_fold(request: pytest.FixtureRequest) -> Iterator[None]:
    """Without the kernel, and with it."""
    found = request.getfixturevalue("kernel") if request.param == "kernel" else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "kernel", lambda: found)
        yield


@pytest.fixture
def api() -> Fanin:
    """The client, over the production tracker in memory."""
    return Fanin(DirectTransport(Tracker(MemoryStore()), "tenant"))


@pytest.fixture(scope="session")
def aws() -> Iterator[Connection]:
    """The emulator of the local run: executors are processes of their own, and reach it on loopback."""
    started = emulator.start(0)
    emulator.wait_until_ready(started)
    yield Connection(started.endpoint)
    started.stop()


@contextmanager
def live_tables(aws: Connection) -> Iterator[Tables]:
    """The tracker's tables, empty, as the driver and its executors name them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        # A scan of a few rows needs two tasks for a table, and not eight.
        patch.setattr(frames, "SEGMENTS_A_SLOT", 1)
        client = aws.client("dynamodb")
        create_tables(client)
        yield Tables(*TABLES, REGION, aws.endpoint)
        for table in TABLES:
            client.delete_table(TableName=table)


@pytest.fixture
def tables(aws: Connection) -> Iterator[Tables]:
    with live_tables(aws) as tables:
        yield tables


def restless(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    """Every attempt sees its rows in another order, and the first attempt of part 1 dies half-way."""
    task = TaskContext.get()
    rows = Table.from_batches(list(batches))
    first = (17 * task.taskAttemptId() + 5) % rows.num_rows
    rotated = concat_tables([rows.slice(first), rows.slice(0, first)])
    for number, batch in enumerate(rotated.to_batches(max_chunksize=50)):
        if number == 2 and task.partitionId() == 1 and task.attemptNumber() == 0:
            raise RuntimeError("the first attempt of part 1 dies on purpose")
        yield batch


@dataclass
class StubQueue:
    """Answers SendMessageBatch on a loopback port; *judge* returns the outcome of the entry of a number."""

    port: int = 0
    judge: Callable[[int], str] = lambda number: "accept"
    seen: int = 0
    requests: list[int] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    traces: set[str | None] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def queue(self) -> Queue:
        endpoint = f"http://127.0.0.1:{self.port}"
        return Queue(f"{endpoint}/000000000000/work", "us-east-1", endpoint)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body in self.bodies]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            self.requests.append(len(request["Entries"]))
            taken, failed = [], []
            for entry in request["Entries"]:
                self.seen += 1
                carried = entry.get("MessageAttributes", {}).get("traceparent", {})
                self.traces.add(carried.get("StringValue"))
                verdict = self.judge(self.seen)
                if verdict == "accept":
                    self.bodies.append(entry["MessageBody"])
                    taken.append({"Id": entry["Id"], "MessageId": str(self.seen), "MD5OfMessageBody": ""})
                else:
                    failed.append({"Id": entry["Id"], "Code": verdict, "SenderFault": verdict == "refuse"})
            return {"Successful": taken, "Failed": failed}


def _handler(stub: StubQueue) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # An answer is written in pieces; without this each waits for the other side's acknowledgement.
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(stub.answer(request)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            """Tests log no requests."""

    return Handler


@contextmanager
def recording_queue() -> Iterator[StubQueue]:
    """A queue that records what it is sent, served on a loopback port."""
    stub = StubQueue()
    with served_on_loopback(_handler(stub)) as stub.port:
        yield stub


@contextmanager
def served_on_loopback(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Serve *handler* while the body runs; its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def sqs() -> Iterator[StubQueue]:
    with recording_queue() as stub:
        yield stub
