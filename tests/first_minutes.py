"""``make first-minutes``: the tutorial in a bare environment, from the installation on, timed.

There is uv, an empty $HOME with no cache, and what every Linux has: no clone, and no environment of ours.
The wheel is built here, as it would be published. The tests of the tutorial's later sections are elsewhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import pages
from tests.pages import ROOT, Block, PageRun, assert_shown, blocks_of, commands_of

PAGE = ROOT / "docs" / "tutorial.md"
UNTIL = "## Test it"
LIMIT_SECONDS = 600
KEPT = ("PATH", "SSL_", "UV_", "HTTP_", "HTTPS_", "NO_PROXY", "ALL_PROXY")
INSTALLED = "./fanin[local]"


def main() -> int:
    """Run the page and return 1 if it took longer than ten minutes."""
    pages.PATIENCE_SECONDS = LIMIT_SECONDS
    _forget_the_environment()
    with TemporaryDirectory(prefix="first-minutes-") as folder:
        seconds = _minutes(Path(folder))
    print(f"{seconds:.0f} s of {LIMIT_SECONDS}")
    return int(seconds > LIMIT_SECONDS)


def _forget_the_environment() -> None:
    for name in list(os.environ):
        if not name.upper().startswith(KEPT):
            del os.environ[name]


def _minutes(folder: Path) -> float:
    work, env = folder / "work", bare(folder)
    work.mkdir()
    port = free_port()
    replaced = {
        INSTALLED: f"{wheel(folder)}[local]",
        "8787": port,
        "up --detach": f"up --detach --port {port}",
    }
    started = time.monotonic()
    try:
        with PageRun(work, env, replaced=replaced) as run:
            for block in beginning(PAGE):
                _typed(run, block)
            return time.monotonic() - started
    finally:
        subprocess.run(["sh", "-c", "fanin local down"], env=env, check=False)


def bare(folder: Path) -> dict[str, str]:
    """Return the environment of a machine that has uv and nothing else of ours."""
    for name in ("user", "bin", "tmp"):
        (folder / name).mkdir()
    shutil.copy(Path(sys.executable).parent / "uv", folder / "bin" / "uv")
    return {
        "HOME": str(folder / "user"),
        "PATH": os.pathsep.join([f"{folder}/user/.local/bin", f"{folder}/bin", "/usr/bin", "/bin"]),
        "PYTHONPATH": "",
        "TMPDIR": str(folder / "tmp"),
        "UV_PYTHON": sys.executable,
    }


def wheel(folder: Path) -> Path:
    """Build the wheel into *folder* and return it."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (found,) = (folder / "dist").glob("*.whl")
    return found


def beginning(page: Path) -> list[Block]:
    """Return the blocks of *page* that are typed in the first minutes."""
    line = page.read_text().splitlines().index(UNTIL)
    return [block for block in blocks_of(page) if block.line < line]


def _typed(run: PageRun, block: Block) -> None:
    """Run *block* as its page says, and print how long it took."""
    started = time.monotonic()
    if block.note.startswith("not run:"):
        _first_time(run, block)
    else:
        run.block(block)
        _took(started, block.title or commands_of(block.code)[0][0])


def _first_time(run: PageRun, block: Block) -> None:
    """Run what the tests of the page leave out: it installs, starts, or serves."""
    code = block.code
    for old, new in run.replaced.items():
        code = code.replace(old, new)
    for command, expected in commands_of(code):
        started = time.monotonic()
        if command.endswith("dashboard"):
            run._terminal().start(f"{command} --port 0", ["http://127.0.0.1:..."])
        else:
            # What it says on standard error comes first.
            assert_shown(["...", *expected], run.shell.run(command), f"{block}: {command}")
        _took(started, command)


def _took(started: float, what: str) -> None:
    print(f"{time.monotonic() - started:6.1f} s  {what}", flush=True)


def free_port() -> str:
    """Return a port on which nothing listens."""
    import socket

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return str(sock.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
