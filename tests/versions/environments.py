"""Environments of the lowest and the newest versions that the extras admit, made by uv."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "versions"
UV = (sys.executable, "-m", "uv", "pip")
TOOLS = (
    "greenlet",
    "hatchling",
    "hypothesis",
    "packaging",
    "pytest",
    "pytest-timeout",
    "pytest-xdist",
    "syrupy",
)
"""What runs the tests; of each the version of ``requirements-dev.txt``."""
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)

End = Literal["lowest", "newest"]
RESOLUTION = {"lowest": "lowest-direct", "newest": "highest"}


@dataclass(frozen=True, slots=True)
class Part:
    """What is installed together: *extras*, more *tools* for the tests, and the *rooms* of tests that run."""

    extras: tuple[str, ...]
    tools: tuple[str, ...]
    rooms: tuple[str, ...]


PURE = (
    "tracker",
    "grouper",
    "queue",
    "client",
    "aws",
    "archive",
    "callbacks",
    "contract",
    "cost",
    "publishing",
)
PARTS = {
    "package": Part(
        ("api", "cli"),
        ("jsonschema", "moto[cloudformation,dynamodb,sqs,events]"),
        (*PURE, "api", "cli", "testing"),
    ),
    "local": Part(
        ("api", "cdk", "cli", "local"),
        ("cdk-nag", "cfn-lint", "jsonschema", "moto[cloudformation,dynamodb,sqs]", "schemathesis"),
        ("functions", "infra", "local", "http"),
    ),
    "spark": Part(
        ("api", "cdk", "cli", "local", "spark"),
        ("matplotlib", "moto[cloudformation,dynamodb,sqs,events]"),
        ("pipeline",),
    ),
}


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment of *part* at one *end* of its ranges, under the Python at *python*."""

    part: str
    end: End
    python: str = sys.executable

    @property
    def folder(self) -> Path:
        """Where it is installed."""
        return FOLDER / f"{self.part}-{self.end}"

    @property
    def interpreter(self) -> Path:
        """The Python in it."""
        return self.folder / "bin" / "python"

    def resolve(self) -> dict[str, str]:
        """Return the version of each package, and write them beside the environment."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        tools, versions = self._file("tools"), self._file("versions")
        tools.write_text("\n".join(_pinned(tool) for tool in (*TOOLS, *PARTS[self.part].tools)))
        extras = (word for extra in PARTS[self.part].extras for word in ("--extra", extra))
        _uv(
            *("compile", "--quiet", "--resolution", RESOLUTION[self.end], "--python", self.python),
            *("--no-header", "--no-annotate", "--output-file", str(versions), *extras),
            *(str(ROOT / "pyproject.toml"), str(tools)),
        )
        return dict(PIN.findall(versions.read_text()))

    def install(self) -> dict[str, str]:
        """Create the environment, and return the version of each package in it."""
        versions = self.resolve()
        if not self.interpreter.exists():
            run([*UV[:-1], "venv", "--quiet", "--python", self.python, str(self.folder)])
        _uv("sync", "--quiet", "--python", str(self.interpreter), str(self._file("versions")))
        _uv("install", "--quiet", "--python", str(self.interpreter), "--no-deps", "--editable", str(ROOT))
        return versions

    def test(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run pytest with *arguments* in the environment; without any, the part's tests."""
        rooms = [f"tests/{room}" for room in PARTS[self.part].rooms]
        command = [
            str(self.interpreter),
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *(arguments or rooms),
        ]
        path = {"PYTHONPATH": f"shared{os.pathsep}."}
        return subprocess.run(
            command, cwd=ROOT, env={**os.environ, **path}, capture_output=True, text=True, check=False
        )

    def _file(self, kind: str) -> Path:
        return FOLDER / f"{self.part}-{self.end}.{kind}.txt"


def _pinned(tool: str) -> str:
    """Return *tool* in the version that the lock file has; of a package with a range of an extra, any."""
    locked = dict(PIN.findall((ROOT / "requirements-dev.txt").read_text()))
    return f"{tool}=={locked[tool.partition('[')[0]]}"


def _uv(*arguments: str) -> None:
    run([*UV, *arguments])


def run(command: list[str]) -> None:
    """Run *command*. Raises RuntimeError with what it wrote to standard error."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
