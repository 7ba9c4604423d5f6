"""`fanin local up` of an installed package, outside a clone: its own app, the user's cache, its own runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The tracker alone is synthesised in half the time.
SMALL = ("-c", "grouper=false", "-c", "queues=false")


@dataclass(frozen=True)
class Installation:
    """The unpacked wheel in *packages*, and a user's folders, where *work* is the working directory."""

    packages: Path
    work: Path
    cache: Path
    scratch: Path

    def fanin(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command of this installation."""
        uv = Path(os.environ.get("XDG_CACHE_HOME", Path("~/.cache").expanduser())) / "uv"
        env = {
            **os.environ,
            "PYTHONPATH": str(self.packages),
            "TMPDIR": str(self.scratch),
            "UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR", str(uv)),
            "XDG_CACHE_HOME": str(self.cache),
        }
        command = [sys.executable, "-m", "fanin.cli.main", *arguments]
        return subprocess.run(command, cwd=self.work, env=env, text=True, capture_output=True, check=False)

    def files(self) -> set[Path]:
        """The files of the installed packages, without bytecode."""
        return {path for path in self.packages.rglob("*") if path.is_file() and path.suffix != ".pyc"}


@contextmanager
def installed(folder: Path) -> Iterator[Installation]:
    """A wheel of the tree, unpacked in *folder*, where no clone is; its runs are ended."""
    installation = Installation(*(folder / name for name in ("packages", "work", "cache", "scratch")))
    installation.work.mkdir()
    installation.scratch.mkdir()
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    ZipFile(wheel).extractall(installation.packages)
    try:
        yield installation
    finally:
        installation.fanin("local", "down")


@pytest.mark.side_by_side
def test_a_run_outside_a_clone_is_known_to_the_command_and_leaves_nothing_among_the_packages(tmp_path):
    with installed(tmp_path) as installation:
        runs_outside_a_clone(installation)


def runs_outside_a_clone(installation: Installation) -> None:
    before = installation.files()

    up = installation.fanin("local", "up", "--detach", "--port", "0", *SMALL)

    assert up.returncode == 0, up.stderr
    url = up.stdout.strip()
    listed = installation.fanin("local", "list").stdout
    assert listed.startswith(f"{url}  AWS at ")
    assert listed.endswith(f"started by {installation.packages}\n")
    assert f"export FANIN_URL={url}\n" in installation.fanin("local", "env").stdout
    assert installation.fanin("open", "hello").returncode == 0
    assert installation.fanin("local", "down").stdout == f"ended {url}\n"
    assert installation.files() == before
    assert len(list((installation.cache / "fanin" / "local").iterdir())) == 1
