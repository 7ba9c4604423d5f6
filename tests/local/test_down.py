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

from fanin.local.run_directories import RunDirectory

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = "/elsewhere/fanin"
# What `up` is to `down`: a process that holds the lock of a run directory and ends by SIGTERM.
RUN = """
import json, os, signal, sys
from fanin.local import run_directories

directory = run_directories.directory_of(int(sys.argv[1]))
directory.take()
state = {**json.loads(sys.argv[2]), "pid": os.getpid(), "host": os.getpid()}
(directory.path / "state.json").write_text(json.dumps(state))
print("ready", flush=True)
signal.pause()
"""


def environment(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "shared"), "TMPDIR": str(folder)}


class Runs:
    """Runs on a machine of their own: *folder* is its folder for temporary files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: dict[int, subprocess.Popen[str]] = {}

    def start(self, port: int, checkout: Path | str | None = None, command: bool = True) -> None:
        url, endpoint = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"
        state = {"port": port, "url": url, "endpoint": endpoint, "outputs": {"A": "1"}, "command": command}
        known = {} if checkout is None else {"checkout": str(checkout)}
        arguments = [sys.executable, "-c", RUN, str(port), json.dumps({**state, **known})]
        env = environment(self.folder)
        self.started[port] = subprocess.Popen(arguments, env=env, text=True, stdout=subprocess.PIPE)
        assert self.started[port].stdout.readline() == "ready\n"

    def living(self) -> set[int]:
        folder = self.folder / f"fanin-local-{os.getuid()}"
        return {port for port in self.started if not RunDirectory(folder / str(port)).is_abandoned()}

    def asked(self, *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fanin.cli.main", "local", *arguments]
        return subprocess.run(
            command, cwd=cwd, env=environment(self.folder), capture_output=True, text=True, check=False
        )


@pytest.fixture
def runs(tmp_path) -> Iterator[Runs]:
    made = Runs(tmp_path)
    yield made
    for process in made.started.values():
        process.kill()
        process.wait()
        process.stdout.close()


def test_down_ends_the_runs_of_its_checkout_and_names_those_that_it_leaves(runs):
    runs.start(5001, ROOT)
    runs.start(5002, ELSEWHERE)
    runs.start(5003)  # started by a version that wrote no checkout

    done = runs.asked("down")

    assert runs.living() == {5002, 5003}
    assert (done.returncode, done.stdout) == (0, "ended http://127.0.0.1:5001\n")
    assert done.stderr == (
        "left running, started by other checkouts: http://127.0.0.1:5002, http://127.0.0.1:5003; "
        "end them with --all, or one with --port\n"
    )


def test_the_checkout_is_that_of_the_command_wherever_it_is_given(runs, tmp_path):
    runs.start(5001, ROOT)

    runs.asked("down", cwd=tmp_path)

    assert runs.living() == set()


def test_down_with_nothing_of_this_checkout_ends_nothing(runs):
    runs.start(5002, ELSEWHERE)

    done = runs.asked("down")

    assert runs.living() == {5002}
    assert (done.returncode, done.stdout) == (0, "nothing to end\n")
    assert "http://127.0.0.1:5002" in done.stderr
    other = runs.asked("down", "--port", "1")
    assert other.stdout == "nothing to end on port 1; fanin local list prints the runs\n"


def test_all_ends_what_up_started_in_every_checkout_and_no_other_programs_run(runs):
    runs.start(5001, ROOT)
    runs.start(5002, ELSEWHERE)
    runs.start(5003)
    runs.start(5004, ROOT, command=False)

    done = runs.asked("down", "--all")

    assert runs.living() == {5004}
    assert sorted(done.stdout.split()) == ["ended"] * 3 + [
        f"http://127.0.0.1:{n}" for n in (5001, 5002, 5003)
    ]
    assert done.stderr == ""


def test_a_port_names_the_run_of_any_checkout(runs):
    runs.start(5001, ROOT)
    runs.start(5002, ELSEWHERE)

    runs.asked("down", "--port", "5002")

    assert runs.living() == {5001}


def test_a_port_and_all_exclude_each_other(runs):
    runs.start(5001, ROOT)

    done = runs.asked("down", "--all", "--port", "5001")

    assert done.returncode == 2
    assert "--port" in done.stderr
    assert runs.living() == {5001}


def test_env_takes_the_run_of_its_checkout_before_those_of_others(runs):
    runs.start(5001, ROOT)
    runs.start(5002, ELSEWHERE)

    assert "export AWS_ENDPOINT_URL=http://127.0.0.1:5002\n" in runs.asked("env").stdout


def test_list_says_which_checkout_started_a_run(runs):
    runs.start(5001, ELSEWHERE)
    runs.start(5003)

    assert runs.asked("list").stdout == (
        f"http://127.0.0.1:5001  AWS at http://127.0.0.1:5002  started by {ELSEWHERE}\n"
        "http://127.0.0.1:5003  AWS at http://127.0.0.1:5004\n"
    )


def test_a_state_of_a_newer_version_is_read(runs):
    runs.start(5001, ROOT)
    state = runs.folder / f"fanin-local-{os.getuid()}" / "5001" / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "unknown": 1}))

    assert runs.asked("list").returncode == 0


# `up --detach`, whose run is a process that starts for ten minutes.
DETACHED = """
import signal, sys
from subprocess import Popen
from fanin.cli.services import local

STARTS = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
local.subprocess.Popen = lambda _command, **options: Popen([sys.executable, "-c", STARTS], **options)
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job has ignored
local._in_background()
"""


def test_ctrl_c_while_a_detached_run_starts_ends_that_run(tmp_path):
    command = [sys.executable, "-c", DETACHED]
    started = subprocess.Popen(
        command, cwd=tmp_path, env=environment(tmp_path), text=True, stderr=subprocess.PIPE
    )
    child = int(started.stderr.readline())

    started.send_signal(signal.SIGINT)
    started.communicate(timeout=60)

    assert not Path(f"/proc/{child}").exists()
