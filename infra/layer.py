"""The layer of third-party packages, built by uv without Docker.

It is built for a platform: arm64 and the Lambda runtime on AWS; this interpreter and this machine for the
local run, whose emulator runs handlers under its own Python whatever the template says.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.config import Config
from infra.paths import REQUIREMENTS

AWS_PLATFORM = "aarch64-manylinux_2_28"
# Raise it when the way the layer is built changes: the packages alone would not tell.
RECIPE = "1"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Build:
    """What the packages are built for.

    ``python_version``: major.minor. ``platform``: uv's name of a platform, empty for this host.
    ``compiler``: an interpreter of that very version, or None; bytecode of another version is of no use.
    """

    python_version: str
    platform: str
    compiler: str | None

    @classmethod
    def for_config(cls, config: Config) -> Build:
        """The build that *config* deploys."""
        if config.target == "local":
            return cls(_this_version(), "", sys.executable)
        return cls(config.python_version, AWS_PLATFORM, interpreter(config.python_version))

    def asset_hash(self, requirements: Path = REQUIREMENTS) -> str:
        """The same packages, built in the same way for the same platform, have the same hash; sha256, hex."""
        machine = self.platform or sysconfig.get_platform()
        facts = (RECIPE, machine, self.python_version, "bytecode" if self.compiler else "sources")
        return hashlib.sha256("\0".join(facts).encode() + b"\0" + requirements.read_bytes()).hexdigest()

    def install_command(self, folder: Path, requirements: Path = REQUIREMENTS) -> list[str]:
        """The command that puts the pinned packages into *folder*, refusing whatever has another hash."""
        wanted = ["--python-platform", self.platform] if self.platform else []
        return [
            *(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(folder)),
            *("--python-version", self.python_version, *wanted),
            *("--only-binary", ":all:", "--require-hashes", "--no-compile-bytecode", "-r", str(requirements)),
        ]


def install(build: Build, folder: Path) -> None:
    """Install the packages into *folder* and compile them, byte for byte the same each time."""
    _run(build.install_command(folder))
    shutil.rmtree(folder / "bin", ignore_errors=True)
    (folder / ".lock").unlink(missing_ok=True)
    if build.compiler is None:
        log.warning(
            "no Python %s here: the layer goes without bytecode, cold starts are slower", build.python_version
        )
        return
    compile_sources(build.compiler, folder)


def compile_sources(compiler: str, folder: Path) -> None:
    """Put bytecode beside the sources of *folder*, as it will lie in a Lambda, under /opt/python."""
    # unchecked-hash: the file holds no time stamp, and Lambda never compares it with its source.
    _run(
        [
            *(compiler, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"),
            *("-s", str(folder), "-p", "/opt/python", str(folder)),
        ]
    )


def interpreter(version: str) -> str | None:
    """A Python of exactly *version* (major.minor) on this machine, or None."""
    if version == _this_version():
        return sys.executable
    found = shutil.which(f"python{version}")
    if found is None:
        return None
    # A version manager puts names on PATH for interpreters that it does not have.
    asked = subprocess.run([found, "-V"], capture_output=True, text=True, check=False)  # noqa: S603 - from PATH
    return found if asked.stdout.startswith(f"Python {version}.") else None


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if done.returncode != 0:
        raise RuntimeError(f"the Lambda layer could not be built: {' '.join(command)}\n{done.stderr}")


def _this_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
