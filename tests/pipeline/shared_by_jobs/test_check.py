from __future__ import annotations

import pytest

from pipeline.shared_by_jobs import check


def only(*tools: str):
    return lambda name: f"/bin/{name}" if name in tools else None


def java(folder, version: str, exit_code: int = 0) -> dict[str, str]:
    """An environment whose JAVA_HOME holds a java that says it is *version*."""
    command = folder / "bin" / "java"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\nexit {exit_code}\n")
    command.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


@pytest.mark.parametrize(
    ("version", "exit_code", "problem"),
    [
        ("17.0.15", 0, None),
        ("25.0.3", 0, None),
        ("16.0.2", 0, "is Java 16"),
        ("1.8.0_402", 0, "is Java 8"),
        ("17.0.15", 1, "no Java was found"),
    ],
)
def test_a_java_that_runs_and_is_17_or_newer_is_no_problem(tmp_path, version, exit_code, problem):
    found = check.java_problem(java(tmp_path, version, exit_code))

    assert problem in found if problem else found is None


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        ("apt-get", "openjdk-17-jre-headless"),
        ("dnf", "java-17"),
        ("brew", "openjdk@17"),
        ("none", "adoptium.net"),
    ],
)
def test_a_missing_java_is_named_with_the_line_that_installs_it(tool, line):
    problem = check.java_problem({}, only(tool))

    assert "no Java was found" in problem
    assert line in problem.splitlines()[-1]


def test_a_path_without_a_java_is_to_be_corrected_not_installed_into(tmp_path):
    problem = check.java_problem({"JAVA_HOME": str(tmp_path)}, only("apt-get"))

    assert str(tmp_path) in problem
    assert "unset it" in problem
    assert "apt-get" not in problem


def test_a_job_leaves_with_that_message(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(SystemExit, match="Spark needs Java 17"):
        check.main()
