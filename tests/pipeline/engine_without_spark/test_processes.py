"""Tasks of this machine have the attempts that Spark gives a task."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.engine_without_spark.processes import Clock, Processes
from pipeline.shared_by_jobs.errors import TASK_ATTEMPTS, TaskFailed

CLOCK = Clock(10, lambda: None)


def attempted(task, count):
    """Note the attempt in a file; die, fail or succeed as the task says."""
    path, kind, failures = task
    path.write_text(path.read_text() + "x" if path.exists() else "x")
    count.add(1)
    if len(path.read_text()) <= failures:
        if kind == "killed":
            os._exit(9)
        raise (ValueError if kind == "input" else OSError)("no")
    return kind


def run(number, *tasks):
    processes = Processes(number)
    count = processes.count()
    return sorted(processes.run(attempted, list(tasks), count, CLOCK)), count.value


@pytest.mark.parametrize(("number", "kind"), [(1, "failed"), (2, "failed"), (2, "killed")])
def test_a_task_that_fails_or_is_killed_is_run_again(tmp_path: Path, number, kind):
    results, attempts = run(number, (tmp_path / "a", kind, 2), (tmp_path / "b", "good", 0))

    assert results == sorted([kind, "good"])
    assert attempts >= 4


@pytest.mark.parametrize(
    ("kind", "raised", "attempts"), [("failed", TaskFailed, TASK_ATTEMPTS), ("input", ValueError, 1)]
)
def test_a_task_fails_after_its_last_attempt_and_at_once_for_its_input(tmp_path, kind, raised, attempts):
    with pytest.raises(raised, match=r"^no$"):
        run(1, (tmp_path / "a", kind, 99))

    assert len((tmp_path / "a").read_text()) == attempts


def variable(name, _):
    return os.environ[name]


def test_a_task_has_the_environment_of_its_run_and_not_of_one_before(monkeypatch):
    for value in ("first", "second"):
        monkeypatch.setenv("FANIN_TEST", value)

        assert list(Processes(2, may_fork=False).run(variable, ["FANIN_TEST"], None, CLOCK)) == [value]
