"""The demo as a person runs it: a process, its output, its files, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.catalog.__main__ import main
from pipeline.shared_by_jobs.datasets import CATALOG_SLICE
from tests.pipeline.conftest import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 180
FOR_FEW_ROWS = [
    *("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode"),
    *("spark.python.daemon.module", "spark.python.unix.domain.socket.enabled"),
]
"""Settings of the tests' Spark session that the demo's session of a hundred rows takes, too."""


@pytest.fixture
def demo(tmp_path) -> Callable[..., subprocess.Popen[str]]:
    """Starts the demo with its temporary files in *tmp_path*, which identifies its processes."""
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text("".join(f"{name} {SETTINGS[name]}\n" for name in FOR_FEW_ROWS))
    path = f"{ROOT / 'shared'}{os.pathsep}{ROOT}"
    env = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": path, "SPARK_CONF_DIR": str(conf)}

    def start(*argv: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "examples.catalog", "--out", str(tmp_path / "out"), *argv]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, env=env, stdout=pipe, stderr=pipe, text=True)

    return start


def processes_of(folder: Path) -> list[str]:
    """The command lines of all processes that have *folder* in their environment or their command."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            if str(folder).encode() in command + (process / "environ").read_bytes():
                found.append(command.replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def wait_for(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()


def nothing_runs(folder: Path) -> bool:
    return wait_for(lambda: not processes_of(folder))


def read_until(process: subprocess.Popen[str], text: str) -> None:
    while text not in (line := process.stdout.readline()):
        assert line, process.stderr.read()


# Which items fail on purpose depends on the ids of the batch: of a hundred, none in one run of twenty.
@pytest.mark.parametrize(("items", "failures"), [(100, 0), pytest.param(300, 1, marks=pytest.mark.proof)])
def test_packages_complete_once_whatever_chaos_does(demo, tmp_path, items, failures):
    process = demo("--dataset", str(CATALOG_SLICE), "--items", str(items), "--seed", "6")

    reported, errors = process.communicate()

    assert (process.returncode, errors) == (0, "")
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert f"PASS: {items} items" in reported
    assert (report["passed"], report["items"], report["eventRedeliveries"]) == (True, items, 0)
    assert report["redeliveries"] == report["failuresOnPurpose"] >= failures
    assert report["copies"] > 0
    bundled = report["bundled"]
    assert bundled["callsSaved"] == bundled["tasks"] - bundled["calls"] > 0
    assert bundled["answersLost"] > 0
    # A second copy acks, registers or adds again; so does what failed after it was handed over.
    again = bundled["registeredAgain"] + report["queued"]["addedAgain"]
    assert report["duplicateAcks"] + again >= report["copies"]
    assert report["queued"]["jobs"] > 0
    assert (tmp_path / "out" / "acks.png").stat().st_size > 10_000
    assert nothing_runs(tmp_path)


@pytest.mark.parametrize(
    ("stage", "number"),
    [("deploying", signal.SIGINT), pytest.param("opens a batch", signal.SIGTERM, marks=pytest.mark.proof)],
)
def test_an_interruption_at_any_stage_leaves_no_process_behind(demo, tmp_path, stage, number):
    process = demo("--dataset", str(CATALOG_SLICE))
    read_until(process, stage)

    process.send_signal(number)
    _, errors = process.communicate()

    assert (process.returncode, errors) == (128 + number, "demo: interrupted; nothing of it runs any more\n")
    assert nothing_runs(tmp_path)


# Of its parts, the local run and the Spark job, tests/local/test_command.py and test_job.py show the same.
@pytest.mark.proof
@pytest.mark.parametrize("stage", ["deploying", "opens a batch"])
def test_the_death_of_the_demo_is_the_death_of_all_it_started(demo, tmp_path, stage):
    process = demo("--dataset", str(CATALOG_SLICE))
    read_until(process, stage)
    assert wait_for(lambda: len(processes_of(tmp_path)) > 3)

    process.kill()
    process.communicate()

    assert nothing_runs(tmp_path)


def test_a_dataset_that_is_no_catalog_is_named_before_anything_starts(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    dataset = tmp_path / "people.jsonl"
    dataset.write_text('{"name": "Ada"}\n')

    status = main(["--dataset", str(dataset), "--out", str(tmp_path / "out")])

    printed = capsys.readouterr()
    assert status == 1
    assert printed.err.startswith("demo: line 1 of the dataset is no package")
    assert "starting" not in printed.out
