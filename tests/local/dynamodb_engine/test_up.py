"""``fanin local up --dynamodb URL``: the stack on an engine, and what is left of it there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fanin.local import LocalRun, LocalRunError, run_directories
from fanin.local.emulator_process.connection import Connection
from lab.local.races import Api
from tests.http.events import Events
from tests.local import processes, small
from tests.polling import eventually

ROOT = Path(__file__).resolve().parents[3]


def tables(url: str) -> list[str]:
    found: list[str] = Connection(url).client("dynamodb").list_tables()["TableNames"]
    return [name for name in found if name.startswith("Fanin-")]


@contextmanager
def command(url: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run ``fanin local up`` until its API answers. *folder*: of temporary files."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "shared"), "TMPDIR": str(folder)}
    template = ["--template-dir", str(small.assembly(folder))]
    up = [sys.executable, "-m", "fanin.cli.main", "local", "up", "--port", "0"]
    with subprocess.Popen(
        [*up, "--dynamodb", url, *template],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("http://127.0.0.1:")
            yield process
        finally:
            process.kill()


def asked(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "shared"), "TMPDIR": str(folder)}
    line = [sys.executable, "-m", "fanin.cli.main", "local", *arguments]
    return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


def test_the_tables_are_there_alone_and_the_end_deletes_them(tmp_path, engine_url):
    template = small.assembly(tmp_path)
    with LocalRun.start(template_dir=template, dynamodb=engine_url) as run:
        (table,) = tables(engine_url)
        run.client("dynamodb").put_item(TableName=table, Item={"pk": {"S": "a"}})
        assert Connection(engine_url).client("dynamodb").scan(TableName=table)["Count"] == 1

        with pytest.raises(
            LocalRunError, match=r"has a table Fanin-small-\S+ already.*delete-table.*-c stage="
        ):
            LocalRun.start(template_dir=template, dynamodb=engine_url)
        assert tables(engine_url) == [table]

    directory = run_directories.directory_of(run.port).path
    assert (tables(engine_url), directory.exists(), processes.naming(directory)) == ([], False, [])


# Of its parts, the test above shows the tables, and test_attached.py the stream.
@pytest.mark.proof
def test_a_batch_completes_there_and_its_event_comes_by_the_stream(run, engine_url):
    with LocalRun.start(archive=True, dynamodb=engine_url) as second:
        batches = second.outputs["BatchesTable"]
        api, bus = Api(second.url), Events.on(second)
        batch, items = api.opened(3)
        api.close(batch)
        api.ack(*items)

        assert [each["kind"] for each in bus.of(batch)] == ["BatchCompleted"]
        assert Connection(engine_url).client("dynamodb").scan(TableName=batches)["Count"] > 0
        assert api.pool.request("GET", f"{run.url}/v1/batches/{batch}").status == 404

    assert tables(engine_url) == []


@pytest.mark.proof
def test_list_names_the_engine_and_down_deletes_the_tables(tmp_path, engine_url):
    with command(engine_url, tmp_path) as up:
        assert f"tables in {engine_url}" in asked(tmp_path, "list")
        assert tables(engine_url)

        asked(tmp_path, "down")

        assert up.wait() == 0
        assert tables(engine_url) == []


@pytest.mark.proof
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_tables_are_deleted_though_the_command_is_killed(tmp_path, engine_url):
    with command(engine_url, tmp_path) as up:
        up.kill()

    assert eventually(lambda: not tables(engine_url))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_down_deletes_the_tables_of_a_run_whose_processes_were_all_killed(tmp_path, engine_url):
    with command(engine_url, tmp_path) as up:
        pids = processes.naming(tmp_path)
        for pid in (up.pid, *pids):
            os.kill(pid, signal.SIGSTOP)
        for pid in (up.pid, *pids):
            os.kill(pid, signal.SIGKILL)
    assert tables(engine_url)

    asked(tmp_path, "down")

    assert tables(engine_url) == []
