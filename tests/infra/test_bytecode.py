"""What is deployed has the bytecode of the Lambda runtime, whichever Python synthesises."""

from __future__ import annotations

import logging
import marshal
import subprocess
import sys

import pytest

from fanin_cdk.packaging import bytecode
from fanin_cdk.packaging.bytecode import compile_for, compile_sources, downloaded, interpreter
from fanin_cdk.packaging.code import assemble
from fanin_cdk.packaging.layer import Build, compile_own

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
RUNTIMES = ("3.11", "3.12", "3.13", "3.14")
# In a process of the runtime, because the magic number is its own, and the hash of a source depends on it.
CHECK = """
import importlib.util, pathlib, sys
UNCHECKED_HASH = b"\\x01\\0\\0\\0"
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    head = pathlib.Path(importlib.util.cache_from_source(path)).read_bytes()[:16]
    wanted = importlib.util.MAGIC_NUMBER + UNCHECKED_HASH + importlib.util.source_hash(path.read_bytes())
    assert head == wanted, path
    print(path)
"""
A_MODULE = "NAMES = {'a', 'b', 'c'}\n\ndef f(x):\n    return x in {'d', 'e'}\n"


@pytest.fixture(autouse=True)
def _nothing_found_before():
    interpreter.cache_clear()
    downloaded.cache_clear()
    yield
    interpreter.cache_clear()
    downloaded.cache_clear()


def compiled(python, folder):
    """The sources below *folder* that have their bytecode of the version of *python*."""
    completed = subprocess.run(
        [python, "-c", CHECK, str(folder)], capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.split()


def test_every_source_of_the_code_has_the_bytecode_of_the_runtime_for_each_python_of_this_machine(tmp_path):
    found = {version: python for version in RUNTIMES if (python := interpreter(version))}

    for version, python in found.items():
        assemble(tmp_path / version)
        compile_own(Build(version, "", python), tmp_path / version)
        sources = list((tmp_path / version).rglob("*.py"))

        assert len(compiled(python, tmp_path / version)) == len(sources) > 100

    assert HERE in found


def test_a_python_that_is_not_here_is_downloaded(tmp_path, monkeypatch):
    asked = []

    def output(command):
        asked.append([*command][-3:])
        return "Python 3.98.1" if command[0] == "/new/python" else "/new/python" * (len(asked) > 1)

    monkeypatch.setattr(bytecode, "_output", output)
    ran = []
    monkeypatch.setattr(bytecode, "run", ran.append)

    compile_for("3.98", tmp_path, "/var/task")

    assert asked[1] == ["install", "--quiet", "3.98"]
    assert ran[0][0] == "/new/python"


def test_without_any_the_sources_are_deployed_alone_with_a_warning(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(bytecode, "_output", lambda _: "")

    with caplog.at_level(logging.WARNING):
        compile_for("3.98", tmp_path, "/var/task")

    assert "/var/task has no bytecode" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_a_version_that_is_not_here_has_no_interpreter(tmp_path, monkeypatch):
    pretender = tmp_path / "python3.99"
    pretender.write_text("#!/bin/sh\necho Python 3.1.4\n")
    pretender.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert interpreter(HERE) == sys.executable
    assert interpreter("3.98") is None
    assert interpreter("3.99") is None


def test_bytecode_is_the_same_each_time_and_names_its_place_in_a_lambda(tmp_path):
    archives = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "module.py").write_text(A_MODULE)
        compile_sources(sys.executable, folder, "/opt/python")
        (compiled,) = folder.rglob("*.pyc")
        archives.append(compiled.read_bytes())

    assert archives[0] == archives[1]
    assert archives[0][4:8] == (0b01).to_bytes(
        4, "little"
    )  # a hash stands for the source, and it is not compared
    assert marshal.loads(archives[0][16:]).co_filename == "/opt/python/module.py"  # noqa: S302 - our own
