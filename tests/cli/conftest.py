"""The command over the deployed handlers, with a store of a test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer import testing
from typer.testing import CliRunner

from fanin.cli.app import app
from tests.api.conftest import environment, gateway, memory
from tests.cli.serving import Served

__all__ = ["environment", "gateway", "memory"]

ROOT = Path(__file__).resolve().parents[2]

# All verbs of a command take a fifth of a second to make, and each run of it would make them again.
testing._get_command = cache(testing._get_command)


@pytest.fixture
def served(gateway: Any) -> Iterator[Served]:
    with Served(gateway) as served:
        yield served


@dataclass
class Completed:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def documents(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]

    def ok(self) -> Completed:
        assert self.code == 0, self.err
        return self


@pytest.fixture
def fanin(served: Served, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Completed]:
    """Runs the command in this process, on the served API."""
    monkeypatch.setenv("FANIN_URL", served.url)
    monkeypatch.delenv("FANIN_TOKEN", raising=False)

    def run(*arguments: str, stdin: str | None = None) -> Completed:
        result = CliRunner().invoke(app, list(arguments), input=stdin, prog_name="fanin")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Completed(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def process(served: Served, tmp_path: Path) -> Callable[..., Completed]:
    """Runs the command as a process, on the served API, in pipes of 40 columns."""

    def run(*arguments: str, stdin: str | None = None, **env: str) -> Completed:
        completed = subprocess.run(
            command(*arguments),
            env=variables(served.url, tmp_path, **env),
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
        return Completed(completed.returncode, completed.stdout, completed.stderr)

    return run


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fanin.cli.main", *arguments]


def variables(url: str, tmp: Path, **more: str) -> dict[str, str]:
    """The environment of a process: no credentials, no local run, a narrow terminal."""
    own = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "shared"),
        "TMPDIR": str(tmp),
        "HOME": str(tmp),
    }
    return {**own, "COLUMNS": "40", "FANIN_URL": url, "AWS_EC2_METADATA_DISABLED": "true", **more}
