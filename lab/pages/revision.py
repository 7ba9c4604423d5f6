"""The commit of the tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def commit() -> str:
    """Return the commit of the tree, "+" if tracked files differ from it; empty without a repository."""
    command = ["git", "describe", "--always", "--exclude=*", "--dirty=+", "--abbrev=9"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - git
    return found.stdout.strip()
