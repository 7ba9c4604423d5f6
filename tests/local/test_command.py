from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
from typer.testing import CliRunner

from fanin.cli.app import app
from fanin.local import run_directories
from tests.local import processes

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "fanin.cli.main", "local"]
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "shared"), str(ROOT)])}
URL = re.compile(r"http://127\.0\.0\.1:(\d+)")
BATCH = "/v1/batches/00000000-0000-0000-0000-000000000000"


@pytest.fixture
def up() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`fanin local up` in the foreground, answering; and its port."""
    started = subprocess.Popen(
        [*COMMAND, "up", "--port", "0"],
        env=ENV,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    line = started.stdout.readline()
    port = int(URL.fullmatch(line.strip())[1])
    yield started, port
    started.kill()
    started.wait()
    started.stdout.close()


def nothing_is_left(port: int) -> bool:
    path = run_directories.directory_of(port).path
    return processes.eventually(lambda: not path.exists() and not processes.naming(path))


def answers(port: int) -> int:
    return urllib3.request("GET", f"http://127.0.0.1:{port}{BATCH}", retries=False).status


def test_up_prints_the_url_of_an_api_that_answers_and_ctrl_c_ends_it(up):
    started, port = up

    assert answers(port) == 404
    assert processes.naming(run_directories.directory_of(port).path)

    started.send_signal(signal.SIGINT)

    assert started.wait(60) == 0
    assert nothing_is_left(port)


def test_a_parent_that_is_killed_leaves_no_process_and_no_file(up):
    started, port = up
    answers(port)

    started.kill()

    assert nothing_is_left(port)


def test_an_emulator_that_is_killed_ends_the_command_as_a_failure_and_its_workers(up):
    started, port = up
    answers(port)

    os.kill(run_directories.directory_of(port).read().host, signal.SIGKILL)

    assert started.wait(60) == 1
    assert nothing_is_left(port)


def test_down_ends_a_detached_run_and_a_second_down_finds_nothing():
    up = subprocess.run(
        [*COMMAND, "up", "--port", "0", "--detach"],
        env=ENV,
        text=True,
        capture_output=True,
        check=False,
    )
    port = int(URL.search(up.stdout)[1])

    assert up.returncode == 0
    assert answers(port) == 404

    first, second = (CliRunner().invoke(app, ["local", "down", "--port", str(port)]) for _ in range(2))

    assert first.output == f"ended http://127.0.0.1:{port}\n"
    assert second.output.startswith(f"nothing to end on port {port};")
    assert nothing_is_left(port)


def test_a_port_in_use_is_a_plain_message(run):
    asked = subprocess.run(
        [*COMMAND, "up", "--port", str(run.port)], env=ENV, text=True, capture_output=True, check=False
    )

    assert asked.returncode == 1
    assert asked.stderr.startswith(f"port {run.port} is in use by a local run")
    assert "Traceback" not in asked.stderr


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert CliRunner().invoke(app, ["--version"]).output == f"fanin {project['version']}\n"


APP = """
import os, pathlib, subprocess
pathlib.Path(os.environ["DRAFT"], "started").touch()
subprocess.run(["sleep", "600"])
"""
PARENT = """
import os, subprocess, sys
module = [sys.executable, "-m", "fanin.local.synthesis", str(os.getpid()), os.environ["DRAFT"], "infra.app"]
subprocess.run(module, start_new_session=True)
"""


def test_a_killed_parent_takes_the_synthesis_along(tmp_path):
    draft, folder = tmp_path / "draft", tmp_path / "infra"
    draft.mkdir()
    folder.mkdir()
    (folder / "app.py").write_text(APP)
    path = os.pathsep.join([str(tmp_path), str(ROOT / "shared")])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=tmp_path, env={**ENV, "PYTHONPATH": path, "DRAFT": str(draft)}
    )

    assert processes.eventually((draft / "started").exists)
    parent.kill()
    parent.wait()

    assert processes.eventually(lambda: not processes.naming(draft) and not draft.exists())
