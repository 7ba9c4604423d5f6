"""Node and the npm packages of package.json, which are installed into node_modules once and kept there."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from fanin_cdk.packaging.node import packaged_node

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / "node_modules"
INSTALL = (
    *("install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--loglevel=error"),
    *("--fetch-retries=1", "--fetch-retry-mintimeout=1000"),
)
PATIENCE_SECONDS = 300


def node() -> Path:
    """The packaged Node, of which the CDK runs, too."""
    found = packaged_node()
    assert found is not None
    return found


def packages() -> Path:
    """The folder of the packages of package.json; skips the test if npm cannot install them."""
    text = (ROOT / "package.json").read_bytes()
    wanted, names = hashlib.sha256(text).hexdigest(), json.loads(text)["devDependencies"]
    stamp = PACKAGES / ".installed"
    PACKAGES.mkdir(exist_ok=True)
    with (PACKAGES / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_whole = all((PACKAGES / name).is_dir() for name in names)
        if not is_whole or not stamp.is_file() or stamp.read_text() != wanted:
            _install()
            stamp.write_text(wanted)
    return PACKAGES


def _install() -> None:
    path = os.pathsep.join([str(node().parent), os.environ.get("PATH", "")])
    command = [str(node()), str(launcher("npm")), *INSTALL]
    try:
        subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "PATH": path},
            check=True,
            timeout=PATIENCE_SECONDS,
            capture_output=True,
            text=True,
        )
    except subprocess.SubprocessError as error:
        reason = str(getattr(error, "stderr", "") or error).strip()
        pytest.skip(f"`npm install` in {ROOT.name} needs npm's registry: {reason.partition(chr(10))[0]}")


def launcher(name: str) -> Path:
    """npm or npx of the packaged Node; the launchers of the wheel do not find their library."""
    return node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / f"{name}-cli.js"
