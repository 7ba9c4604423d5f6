"""``fanin dashboard`` as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def running(*options: str, **env: str):
    """The command as a process; it prints one line when it serves."""
    path = os.pathsep.join([str(ROOT / "shared"), str(ROOT)])
    started = subprocess.Popen(
        [sys.executable, "-m", "fanin.cli.main", "dashboard", "--port", "0", *options],
        env={**os.environ, "PYTHONPATH": path, **env},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield started, started.stdout.readline().strip()
    finally:
        started.kill()
        started.communicate()
