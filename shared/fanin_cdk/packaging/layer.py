"""The layer of third-party packages, which uv installs, and the project's own code, built without Docker.

On AWS it is built for arm64 and the Lambda runtime; for the local run, for this interpreter and machine,
because the emulator runs handlers under its own Python.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from fanin_cdk.packaging import code
from fanin_cdk.packaging.bytecode import compile_for, downloaded, interpreter, run, this_version
from fanin_cdk.packaging.paths import REQUIREMENTS
from fanin_cdk.settings.config import Config

AWS_PLATFORM = "aarch64-manylinux_2_28"
# Raise it when the build changes: the asset hash depends on it and on the packages.
RECIPE = "2"
WITHOUT_PACKAGES = (
    "The synthesis installs the packages of the layer from a package index. Without one, give FaninTracker "
    "the layer as packages=, and to synthesise for a test set the context aws:cdk:bundling-stacks to []"
)


@dataclass(frozen=True, slots=True)
class Build:
    """The platform that the packages are built for.

    ``python_version``: major.minor. ``platform``: uv's name of a platform, empty for this host.
    ``compiler``: a Python of that version on this machine, or None.
    """

    python_version: str
    platform: str
    compiler: str | None

    @classmethod
    def for_config(cls, config: Config, *, is_built: bool = False) -> Build:
        """Return the build that *config* deploys.

        If it *is_built* now, a missing Python is downloaded first: a download after the hash is made would
        change the hash of the next synthesis.
        """
        if config.target == "local":
            return cls(this_version(), "", sys.executable)
        compiler = interpreter(config.python_version)
        if compiler is None and is_built:
            compiler = downloaded(config.python_version)
        return cls(config.python_version, AWS_PLATFORM, compiler)

    def asset_hash(self, requirements: Path = REQUIREMENTS) -> str:
        """Return the hash of packages, build and platform; SHA-256, hex."""
        machine = self.platform or sysconfig.get_platform()
        return self._hash(machine, requirements.read_bytes())

    def code_hash(self, settings: str) -> str:
        """Return the hash of the project's own code, the settings file and the build; SHA-256, hex."""
        return self._hash("code", code.digest() + settings.encode())

    def _hash(self, kind: str, content: bytes) -> str:
        facts = (RECIPE, kind, self.python_version, "bytecode" if self.compiler else "sources")
        return hashlib.sha256("\0".join(facts).encode() + b"\0" + content).hexdigest()

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
    try:
        run(build.install_command(folder))
    except RuntimeError as error:
        raise RuntimeError(f"{error}\n{WITHOUT_PACKAGES}") from error
    shutil.rmtree(folder / "bin", ignore_errors=True)
    (folder / ".lock").unlink(missing_ok=True)
    compile_for(build.python_version, folder, "/opt/python")


def compile_own(build: Build, folder: Path) -> None:
    """Compile the project's own code in *folder*, with the same bytes each time."""
    compile_for(build.python_version, folder, "/var/task")
