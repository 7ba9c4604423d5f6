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

from pipeline.spark.datasets import CATALOG_SLICE

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 180


@pytest.fixture
def demo(tmp_path) -> Callable[..., subprocess.Popen[str]]:
    """Starts the demo with its temporary files in *tmp_path*, which identifies its processes."""
    env = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": f"{ROOT / 'shared'}{os.pathsep}{ROOT}"}

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


def nothing_runs(folder: Path) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while processes_of(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not processes_of(folder)


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


def test_the_death_of_the_demo_is_the_death_of_all_it_started(demo, tmp_path):
    process = demo("--dataset", str(CATALOG_SLICE))
    read_until(process, "opens a batch")
    assert len(processes_of(tmp_path)) > 3

    process.kill()
    process.communicate()

    assert nothing_runs(tmp_path)


def test_a_dataset_that_is_no_catalog_is_named_before_anything_starts(demo, tmp_path):
    dataset = tmp_path / "people.jsonl"
    dataset.write_text('{"name": "Ada"}\n')

    process = demo("--dataset", str(dataset))
    reported, errors = process.communicate()

    assert process.returncode == 1
    assert errors.startswith("demo: line 1 of the dataset is no package")
    assert "starting" not in reported
