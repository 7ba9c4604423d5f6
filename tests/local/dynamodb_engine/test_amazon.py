"""DynamoDB Local as a process of the run. A stand-in plays Java and the jar; Amazon's is never fetched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fanin.local import LocalRunError
from fanin.local.dynamodb_engine import amazon
from fanin.local.dynamodb_engine.checking import checked
from fanin.local.emulator_process import emulator
from fanin.local.emulator_process.connection import Connection
from tests.local import processes
from tests.polling import eventually

ROOT = Path(__file__).resolve().parents[3]
# Stands for Java with DynamoDBLocal.jar: notes its arguments, and answers as moto does on the port.
STAND_IN = f"""#!{sys.executable}
import json, pathlib, sys

folder = pathlib.Path(sys.argv[sys.argv.index("-jar") + 1]).parent
(folder / "arguments.json").write_text(json.dumps(sys.argv[1:]))
sys.path[:0] = {[str(ROOT), str(ROOT / "shared")]!r}
from tests.moto_server import serve

serve(int(sys.argv[sys.argv.index("-port") + 1]))
"""
# Stands for them where no table is needed: answers alone, and starts at once.
ANSWERING = f"""#!{sys.executable}
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Engine(BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{{"TableNames": []}}')

HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("-port") + 1])), Engine).serve_forever()
"""
FAILING = "#!/bin/sh\necho no such jar >&2\nexit 3\n"
STARTING = """
import sys, time
from pathlib import Path
from fanin.local.dynamodb_engine import amazon

amazon.start(Path(sys.argv[1]), Path(sys.argv[1]))
print("started", flush=True)
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a DynamoDB Local that is none."""
    folder = tmp_path / "dynamodb_local"
    folder.mkdir()
    (folder / "DynamoDBLocal.jar").touch()
    return folder


def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    command = tmp_path / "bin" / "java"
    command.parent.mkdir()
    command.write_text(script)
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")


@pytest.mark.proof
def test_it_is_started_in_memory_without_telemetry_and_ends_with_the_run(folder, tmp_path, monkeypatch):
    java(tmp_path, monkeypatch, STAND_IN)
    started = emulator.start(0, checked(str(folder)))
    try:
        emulator.wait_until_ready(started)
        client = Connection(started.endpoint).client("dynamodb")
        client.create_table(
            TableName="table",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        client.put_item(TableName="table", Item={"pk": {"S": "a"}})
        assert client.scan(TableName="table")["Count"] == 1
        arguments = (folder / "arguments.json").read_text()
        assert len(processes.naming(folder)) == 2  # the run's own process, and the engine's
    finally:
        started.stop()

    assert {"-inMemory", "-disableTelemetry"} <= set(arguments.replace('"', "").strip("[]").split(", "))
    assert "-dbPath" not in arguments
    assert eventually(lambda: not processes.naming(folder))


def test_the_access_key_is_a_secret_of_the_run(folder, tmp_path, monkeypatch):
    java(tmp_path, monkeypatch, ANSWERING)

    keys = set()
    for _ in range(2):
        engine = amazon.start(folder, tmp_path)
        keys.add(engine.key)
        os.kill(processes.naming(folder)[0], signal.SIGKILL)

    assert len(keys) == 2
    assert all(key.isalnum() and len(key) == 32 for key in keys)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux ends a process with its parent")
def test_it_ends_with_a_process_that_is_killed(folder, tmp_path, monkeypatch):
    java(tmp_path, monkeypatch, ANSWERING)
    with subprocess.Popen(
        [sys.executable, "-c", STARTING, str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "shared")},
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout.readline() == "started\n"
        parent.kill()

    assert eventually(lambda: not processes.naming(folder))


def test_a_start_that_fails_is_reported_with_its_output(folder, tmp_path, monkeypatch):
    java(tmp_path, monkeypatch, FAILING)
    started = emulator.start(0, checked(str(folder)))
    try:
        with pytest.raises(LocalRunError, match=rf"no such jar\n.*{folder} did not start \(exit code 3\)"):
            emulator.wait_until_ready(started)
    finally:
        started.stop()


def test_a_machine_without_java_is_reported_before_the_start(folder, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))

    with pytest.raises(LocalRunError, match="needs Java 17 or newer"):
        checked(str(folder))
