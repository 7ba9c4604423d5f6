"""The layer of third-party packages, built by uv without Docker.

On AWS it is built for arm64 and the Lambda runtime; for the local run, for this interpreter and machine,
because the emulator runs handlers under its own Python.
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
# Raise it when the build changes: the asset hash depends on it and on the packages.
RECIPE = "1"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Build:
    """The platform that the packages are built for.

    ``python_version``: major.minor. ``platform``: uv's name of a platform, empty for this host.
    ``compiler``: an interpreter of that version, or None: then the layer has no bytecode.
    """

    python_version: str
    platform: str
    compiler: str | None

    @classmethod
    def for_config(cls, config: Config) -> Build:
        """Return the build that *config* deploys."""
        if config.target == "local":
            return cls(_this_version(), "", sys.executable)
        return cls(config.python_version, AWS_PLATFORM, interpreter(config.python_version))

    def asset_hash(self, requirements: Path = REQUIREMENTS) -> str:
        """Return the hash of packages, build and platform; SHA-256, hex."""
        machine = self.platform or sysconfig.get_platform()
        facts = (RECIPE, machine, self.python_version, "bytecode" if self.compiler else "sources")
        return hashlib.sha256("\0".join(facts).encode() + b"\0" + requirements.read_bytes()).hexdigest()

    def install_command(self, folder: Path, requirements: Path = REQUIREMENTS) -> list[str]:
        """Return the command that installs the pinned packages into *folder* and checks their hashes."""
        wanted = ["--python-platform", self.platform] if self.platform else []
        return [
            *(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(folder)),
            *("--python-version", self.python_version, *wanted),
            *("--only-binary", ":all:", "--require-hashes", "--no-compile-bytecode", "-r", str(requirements)),
        ]


def install(build: Build, folder: Path) -> None:
    """Install the packages into *folder* and compile them, with the same bytes each time."""
    _run(build.install_command(folder))
    shutil.rmtree(folder / "bin", ignore_errors=True)
    (folder / ".lock").unlink(missing_ok=True)
    if build.compiler is None:
        log.warning(
            "no Python %s found: the layer has no bytecode, cold starts are slower", build.python_version
        )
        return
    compile_sources(build.compiler, folder)


def compile_sources(compiler: str, folder: Path) -> None:
    """Write bytecode beside the sources of *folder*, with the paths of a Lambda layer, /opt/python."""
    # unchecked-hash: the file holds no time stamp, and Python does not compare it with its source.
    _run(
        [
            *(compiler, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"),
            *("-s", str(folder), "-p", "/opt/python", str(folder)),
        ]
    )


def interpreter(version: str) -> str | None:
    """Return the path of a Python of exactly *version* (major.minor) on this machine, or None."""
    if version == _this_version():
        return sys.executable
    found = shutil.which(f"python{version}")
    if found is None:
        return None
    # A version manager may have a shim on PATH for a version that is not installed.
    asked = subprocess.run([found, "-V"], capture_output=True, text=True, check=False)  # noqa: S603 - from PATH
    return found if asked.stdout.startswith(f"Python {version}.") else None


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if done.returncode != 0:
        raise RuntimeError(f"the Lambda layer could not be built: {' '.join(command)}\n{done.stderr}")


def _this_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
