"""The bytecode of what is deployed, made by a Python of the version of the Lambda runtime.

Bytecode is of one minor version of Python. The folders of layer and code are read-only in a Lambda function,
so each cold start compiles anew what was not compiled here.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

UV = (sys.executable, "-m", "uv")

log = logging.getLogger(__name__)


def compile_for(version: str, folder: Path, deployed: str) -> None:
    """Write bytecode beside the sources of *folder*; *deployed*: its path in a Lambda function.

    The Python of *version* is one of this machine, or one that uv downloads. Without either, a warning is
    logged, and *folder* has no bytecode.
    """
    compiler = interpreter(version) or downloaded(version)
    if compiler is not None:
        compile_sources(compiler, folder, deployed)
        return
    log.warning(
        "no Python %s on this machine, and uv cannot download one: %s has no bytecode, and a cold start takes"
        " up to 1.8 times the CPU; install Python %s, or set python_version to %s",
        *(version, deployed, version, this_version()),
    )


def compile_sources(compiler: str, folder: Path, deployed: str) -> None:
    """Compile *folder* by *compiler*, with the same bytes each time."""
    # unchecked-hash: the file holds no time stamp, and Python does not compare it with its source.
    run(
        [
            *(compiler, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"),
            *("-s", str(folder), "-p", deployed, str(folder)),
        ]
    )


@cache
def interpreter(version: str) -> str | None:
    """Return the path of a Python of exactly *version* (major.minor) on this machine, or None."""
    if version == this_version():
        return sys.executable
    return _of_version(shutil.which(f"python{version}"), version) or _of_uv(version)


@cache
def downloaded(version: str) -> str | None:
    """Download the Python of *version* that uv pins, and return its path; None if that fails."""
    log.info("downloading Python %s, for the bytecode of the Lambda functions", version)
    _output([*UV, "python", "install", "--quiet", version])
    return _of_uv(version)


def _of_uv(version: str) -> str | None:
    """Return the path of a Python that uv downloaded before."""
    return _of_version(_output([*UV, "python", "find", "--managed-python", version]) or None, version)


def _of_version(found: str | None, version: str) -> str | None:
    """Return *found* if it is of *version*: a version manager may have a shim for a version that it lacks."""
    return found if found and _output([found, "-V"]).startswith(f"Python {version}.") else None


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - our own


def run(command: Sequence[str]) -> None:
    """Run a command of the build. Raises RuntimeError, with what it wrote."""
    completed = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if completed.returncode != 0:
        raise RuntimeError(
            f"the Lambda functions could not be built: {' '.join(command)}\n{completed.stderr}"
        )


def this_version() -> str:
    """Return the version (major.minor) of this Python."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"
