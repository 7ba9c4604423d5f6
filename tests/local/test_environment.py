"""``fanin local env`` and ``list``: how another process finds a run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fanin import Fanin
from fanin.cli.app import app
from fanin.cli.arguments.where import Where
from fanin.cli.terminal.exits import UsageError
from fanin.local import run_directories
from fanin.local.deployment_source import ORIGIN
from fanin.local.run_directories import State

ROOT = Path(__file__).resolve().parents[2]
TAKER = """
import os
from fanin import Fanin

fanin = Fanin()
print(fanin.status(os.environ["BATCH"]).total)
del os.environ["FANIN_URL"]
print(Fanin().status(os.environ["BATCH"]).total)
with fanin.queue("errands") as queue:
    queue.add("one")
    with queue.take(10, wait=20) as jobs:
        print(*(job.key for job in jobs))
"""


@pytest.fixture
def local_runs(tmp_path, monkeypatch):
    """Says that runs live on these ports."""
    monkeypatch.setattr(run_directories, "root", lambda: tmp_path / "runs")
    locks = []

    def living(*ports: int, **changed) -> None:
        for port in ports:
            locks.append(run_directories.directory_of(port).take())
            known = {"outputs": {"QueueTable": f"jobs of {port}"}, "command": True, **changed}
            url, endpoint = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"
            run_directories.directory_of(port).write(
                State(port=port, url=url, endpoint=endpoint, pid=1, host=2, **known)
            )

    yield living
    for lock in locks:
        os.close(lock)


def asked(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["local", *arguments])


@pytest.mark.proof
def test_what_env_prints_is_all_that_a_worker_and_a_reader_of_tables_need(run):
    fanin = Fanin(run.url)
    with fanin.open(user_key="by env") as batch:
        list(batch.add(7))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "shared"), "TMPDIR": tempfile.gettempdir()}
    env |= {"BATCH": batch.id}
    script = f'eval "$({sys.executable} -m fanin.cli.main local env --port {run.port})" && exec "$0" -c "$1"'

    completed = subprocess.run(
        ["sh", "-c", script, sys.executable, TAKER], env=env, capture_output=True, text=True, check=False
    )

    assert (completed.stdout.split(), completed.stderr) == (["7", "7", "one"], "")


def test_what_a_shell_would_cut_is_quoted(local_runs):
    local_runs(8787)

    assert "export FANIN_QUEUE_TABLE='jobs of 8787'\n" in asked("env").output


def test_without_a_run_env_says_how_to_start_one(local_runs):
    completed = asked("env")

    assert (completed.exit_code, completed.stdout) == (1, "")
    assert completed.stderr == "there is no local run; start one with: fanin local up\n"


def test_of_several_runs_env_asks_for_one_and_takes_it_by_its_port(local_runs):
    local_runs(8787, 9090)

    completed = asked("env")

    assert (completed.exit_code, completed.stdout) == (1, "")
    assert "choose one with --port: http://127.0.0.1:8787, http://127.0.0.1:9090" in completed.stderr
    assert "export AWS_ENDPOINT_URL=http://127.0.0.1:9091\n" in asked("env", "--port", "9090").output


def test_a_run_of_another_program_is_taken_by_its_port_alone(local_runs):
    local_runs(9090, command=False)

    assert asked("env").exit_code == 1
    assert asked("env", "--port", "9090").exit_code == 0


def test_a_run_that_does_not_answer_yet_is_said_to_be_starting(local_runs):
    local_runs(8787, outputs={})

    assert "http://127.0.0.1:8787 is still starting" in asked("env").stderr
    assert asked("list").output == "http://127.0.0.1:8787  AWS at http://127.0.0.1:8788 (starting)\n"


@pytest.mark.parametrize(
    ("ours", "named", "meant"),
    [([1, 2], 2, 2), ([1, 2], None, None), ([1], None, 1), ([1], 2, 2), ([], 3, 3), ([], None, None)],
)
def test_env_and_every_verb_mean_one_run_by_one_rule(local_runs, monkeypatch, ours, named, meant):
    monkeypatch.delenv("FANIN_URL", raising=False)
    for port in (1, 2, 3):
        local_runs(port, checkout=str(ORIGIN.folder) if port in ours else "/elsewhere")
    if named:
        monkeypatch.setenv("FANIN_URL", f"http://127.0.0.1:{named}")
    env = asked("env")

    if meant is None:
        assert "choose one with --port" in env.stderr
        with pytest.raises(UsageError, match=f"found {len(ours) or 3} local runs"):
            Where().site()
    else:
        assert f"FANIN_URL=http://127.0.0.1:{meant}\n" in env.stdout
        assert Where().site().url == f"http://127.0.0.1:{meant}"


def test_list_names_the_living_runs_and_no_other(local_runs):
    local_runs(10000, 9090)
    os.close(run_directories.directory_of(7).take())

    assert asked("list").output == (
        "http://127.0.0.1:9090  AWS at http://127.0.0.1:9091\n"
        "http://127.0.0.1:10000  AWS at http://127.0.0.1:10001\n"
    )
