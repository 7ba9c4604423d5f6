"""The packages of the peers, in an environment of their own, and the programs that the user installs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lab.pages.revision import ROOT

BUILD = ROOT / "build" / "peers"
PYTHON_PACKAGES = {"celery": "celery[redis]==5.7.0", "redis": "redis==8.1.0"}
NODE_PACKAGES = {"bullmq": "bullmq@6.7.0", "ioredis": "ioredis@6.0.0"}
PROGRAMS = {
    "redis-server": "apt-get install redis-server, or brew install redis",
    "node": "https://nodejs.org, or brew install node",
    "npm": "it comes with Node",
}


def missing(which: Callable[[str], str | None] = shutil.which) -> str:
    """Return a line for each program that is missing and how to install it; empty if all are there."""
    return "\n".join(f"missing: {name}: {how}" for name, how in PROGRAMS.items() if not which(name))


def celery_python() -> Path:
    """Install Celery once, and return the Python that has it."""
    folder = BUILD / "venv"
    pins = list(PYTHON_PACKAGES.values())
    python = folder / "bin" / "python"
    if not _is_installed(folder, pins):
        _run(sys.executable, "-m", "venv", "--clear", str(folder))
        _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins)
        _note(folder, pins)
    return python


def bullmq_folder() -> Path:
    """Install BullMQ once, and return the folder whose ``node_modules`` has it."""
    folder = BUILD / "node"
    pins = list(NODE_PACKAGES.values())
    if not _is_installed(folder, pins):
        folder.mkdir(parents=True, exist_ok=True)
        # npm installs into the nearest folder with this file.
        (folder / "package.json").write_text('{"private": true}\n')
        npm = ["npm", "install", "--loglevel=error", "--no-audit", "--no-fund", "--ignore-scripts"]
        _run(*npm, "--prefix", str(folder), *pins)
        _note(folder, pins)
    return folder


def _is_installed(folder: Path, pins: list[str]) -> bool:
    note = folder / ".installed"
    return note.exists() and note.read_text().split() == pins


def _note(folder: Path, pins: list[str]) -> None:
    (folder / ".installed").write_text("\n".join(pins) + "\n")


def _run(*command: str) -> None:
    subprocess.run(command, check=True)  # noqa: S603 - pip and npm, with pinned packages
