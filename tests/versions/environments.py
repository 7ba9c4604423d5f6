"""Environments of the lowest and the newest versions that the extras admit, made by uv."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "versions"
UV = (sys.executable, "-m", "uv", "pip")
TOOLS = (
    *("greenlet", "hatchling", "hypothesis", "packaging", "pytest", "pytest-timeout", "pytest-xdist"),
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
    *("tracker", "grouper", "queue", "client", "aws", "archive", "callbacks", "contract", "cost"),
    "publishing",
)
PARTS = {
    "package": Part(
        ("api", "async", "cli", "otel", "report"),
        (
            "jsonschema",
            "moto[cloudformation,dynamodb,sqs,events]",
            "openapi-spec-validator",
            "opentelemetry-sdk",
        ),
        (*PURE, "api", "cli", "report", "testing"),
    ),
    "local": Part(
        ("api", "cdk", "cli", "local"),
        (
            "cdk-nag",
            "cfn-lint",
            "jsonschema",
            "moto[cloudformation,dynamodb,sqs]",
            "openapi-spec-validator",
            "schemathesis",
        ),
        ("functions", "cost", "infra", "local", "http"),
    ),
    "spark": Part(
        ("api", "cdk", "cli", "local", "report", "spark"),
        ("moto[cloudformation,dynamodb,sqs,events]",),
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
    def interpreter(self) -> Path:
        """The Python in it."""
        other = "" if self.python == sys.executable else "".join(c for c in self.python if c.isalnum())
        return FOLDER / f"{self.part}-{self.end}{other}" / "bin" / "python"

    def install(self) -> dict[str, str]:
        """Create the environment, and return the version of each package in it."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        tools, versions = (FOLDER / f"{self.part}-{self.end}.{kind}.txt" for kind in ("tools", "versions"))
        tools.write_text("\n".join(map(self._pinned, (*TOOLS, *PARTS[self.part].tools))))
        extras = (option for extra in PARTS[self.part].extras for option in ("--extra", extra))
        options = ("--resolution", RESOLUTION[self.end], "--python", self.python, "--output-file", versions)
        compiled = ("compile", "--quiet", "--upgrade", "--no-header", "--no-annotate", *options, *extras)
        run(*UV, *compiled, ROOT / "pyproject.toml", tools)
        if not self.interpreter.exists():
            run(*UV[:-1], "venv", "--quiet", "--python", self.python, self.interpreter.parents[1])
        run(*UV, "sync", "--quiet", "--python", self.interpreter, versions)
        run(*UV, "install", "--quiet", "--python", self.interpreter, "--no-deps", "--editable", ROOT)
        return dict(PIN.findall(versions.read_text()))

    def requirements(self) -> list[str]:
        """The requirements of the part in pyproject.toml, but those on this package itself."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        extras = (project["optional-dependencies"][extra] for extra in PARTS[self.part].extras)
        asked = [line for lines in (project["dependencies"], *extras) for line in lines]
        return [line for line in asked if Requirement(line).name != "fanin"]

    def test(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run pytest with *arguments* in the environment."""
        command = [str(self.interpreter), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        env = {**os.environ, "PYTHONPATH": f"shared{os.pathsep}."}
        return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)

    def _pinned(self, tool: str) -> str:
        """Return *tool* in the version of the lock file; in any, if the part has a range of it."""
        name = tool.partition("[")[0]
        if name in {Requirement(line).name for line in self.requirements()}:
            return tool
        return f"{tool}=={dict(PIN.findall((ROOT / 'requirements-dev.txt').read_text()))[name]}"


def run(*command: str | Path) -> str:
    """Run *command* and return what it wrote. Raises RuntimeError with what it wrote to standard error."""
    arguments = [str(each) for each in command]
    completed = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    if completed.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}\n{completed.stderr}")
    return completed.stdout
