"""``fanin local down``: it ends the runs of its own checkout, and others only where it is asked to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fanin.cli.app import app
from fanin.local import run_directories

ROOT = Path(__file__).resolve().parents[2]
OURS, OTHERS, UNKNOWN = str(ROOT), "/elsewhere/fanin", ""
"""The checkout that a run was started from; a version before it wrote none."""


class Runs:
    """Processes that hold the lock of a run directory and end by SIGTERM, as `up` does."""

    def __init__(self) -> None:
        self.started: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, port: int, checkout: str, command: bool = True) -> None:
        directory = run_directories.directory_of(port)
        lock = directory.take()
        process = self.started[port] = subprocess.Popen(["sleep", "600"], pass_fds=[lock])
        os.close(lock)
        url, endpoint = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"
        state = {"port": port, "url": url, "endpoint": endpoint, "outputs": {"A": "1"}, "command": command}
        state |= {"checkout": checkout} if checkout else {}
        written = {**state, "pid": process.pid, "host": process.pid, "of a newer version": 1}
        (directory.path / "state.json").write_text(json.dumps(written))

    def living(self) -> set[int]:
        return {port for port in self.started if not run_directories.directory_of(port).is_abandoned()}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    monkeypatch.setattr(run_directories, "root", lambda: tmp_path / "runs")
    monkeypatch.chdir(tmp_path)  # the checkout is that of the command, wherever it is given
    runs = Runs()
    yield runs
    for process in runs.started.values():
        process.kill()
        process.wait()


def local(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["local", *arguments])


STARTED = {5001: OURS, 5002: OTHERS, 5003: UNKNOWN}
RUNNING = "left running, started by other checkouts: {}; end them with --all, or one with --port\n"


@pytest.mark.parametrize(
    ("started", "arguments", "ended", "errors"),
    [
        ((5001, 5002, 5003), (), (5001,), RUNNING.format("http://127.0.0.1:5002, http://127.0.0.1:5003")),
        ((5002,), (), (), RUNNING.format("http://127.0.0.1:5002")),
        ((5001, 5002, 5003), ("--all",), (5001, 5002, 5003), ""),
        ((5001, 5002), ("--port", "5002"), (5002,), ""),
    ],
)
def test_down_ends_the_runs_of_its_checkout_or_those_it_is_asked_to(runs, started, arguments, ended, errors):
    for port in started:
        runs.start(port, STARTED[port])
    runs.start(5004, OURS, command=False)  # of another program
    completed = local("down", *arguments)

    assert runs.living() == {5004, *started} - set(ended)
    lines = "".join(f"ended http://127.0.0.1:{port}\n" for port in ended) or "nothing to end\n"
    assert (completed.exit_code, completed.stdout, completed.stderr) == (0, lines, errors)


def test_a_port_of_no_run_is_refused(runs):
    completed = local("down", "--port", "5009")

    assert (completed.exit_code, completed.stdout) == (1, "")
    assert completed.stderr.startswith("there is no local run on port 5009; fanin local list prints the runs")


def test_a_port_and_all_exclude_each_other(runs):
    runs.start(5001, OURS)
    completed = local("down", "--all", "--port", "5001")

    assert (completed.exit_code, "--port" in completed.stderr) == (2, True)
    assert runs.living() == {5001}


def test_env_takes_the_run_of_its_checkout_before_those_of_others(runs):
    runs.start(5001, OURS)
    runs.start(5002, OTHERS)

    assert "export AWS_ENDPOINT_URL=http://127.0.0.1:5002\n" in local("env").stdout


def test_list_says_which_checkout_started_a_run(runs):
    runs.start(5001, OTHERS)
    runs.start(5003, UNKNOWN)

    assert local("list").stdout == (
        f"http://127.0.0.1:5001  AWS at http://127.0.0.1:5002  started by {OTHERS}\n"
        "http://127.0.0.1:5003  AWS at http://127.0.0.1:5004\n"
    )


# `up --detach`, whose run is a process that starts for ten minutes.
DETACHED = """
import signal, sys
from subprocess import Popen
from fanin.cli.local_run import local

STARTS = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
local.subprocess.Popen = lambda _command, **options: Popen([sys.executable, "-c", STARTS], **options)
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job has ignored
local._in_background()
"""


def test_ctrl_c_while_a_detached_run_starts_ends_that_run(tmp_path):
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "shared"), "TMPDIR": str(tmp_path)}
    started = subprocess.Popen(
        [sys.executable, "-c", DETACHED], cwd=tmp_path, env=environment, text=True, stderr=subprocess.PIPE
    )
    child = int(started.stderr.readline())

    started.send_signal(signal.SIGINT)
    started.communicate(timeout=60)

    assert not Path(f"/proc/{child}").exists()
