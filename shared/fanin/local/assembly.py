"""The cloud assembly: read from a folder, or synthesised by the CDK app and cached under ``build/``."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT
from tempfile import TemporaryDirectory
from typing import Any

from fanin.local.errors import LocalRunError

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("infra/**/*.py", "functions/**/*.py", "shared/**/*.py", "requirements.txt", "cdk.json")
# Not deployed: see fanin_cdk/code.py.
NOT_DEPLOYED = ("shared/fanin/local/", "shared/fanin/cli/", "shared/fanin/cost/")
KEPT = 6
"""The number of cached assemblies; older ones are removed."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file to upload under *key*; for a folder, its zip."""

    path: Path
    key: str
    is_folder: bool

    def content(self) -> bytes:
        """Return the bytes to upload."""
        return zipped(self.path) if self.is_folder else self.path.read_bytes()


@dataclass(frozen=True, slots=True)
class Assembly:
    """One stack of a cloud assembly: its name, its template, and the template's assets."""

    stack: str
    template: Mapping[str, Any]
    assets: tuple[Asset, ...]

    @classmethod
    def read(cls, folder: Path) -> Assembly:
        """Return the one stack of *folder*, a cloud assembly, or raise LocalRunError."""
        manifests = sorted(folder.glob("*.assets.json"))
        if len(manifests) != 1:
            raise LocalRunError(
                f"{folder} holds {len(manifests)} stacks, not one; name an output folder of `cdk synth`"
            )
        stack = manifests[0].name.removesuffix(".assets.json")
        files = json.loads(manifests[0].read_text())["files"].values()
        template = json.loads((folder / f"{stack}.template.json").read_text())
        return cls(stack, template, tuple(_asset(folder, file) for file in files))


def _asset(folder: Path, file: Mapping[str, Any]) -> Asset:
    source = file["source"]
    (destination,) = file["destinations"].values()
    return Asset(folder / source["path"], destination["objectKey"], source["packaging"] == "zip")


def zipped(folder: Path) -> bytes:
    """Return a zip of *folder*, uncompressed, as it stays on this machine."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return buffer.getvalue()


def fingerprint(root: Path, context: Mapping[str, Any]) -> str:
    """Return a hash of the sources, the context, this Python and machine; 16 hex digits."""
    digest = hashlib.sha256(json.dumps([context, sys.version, platform.platform()], sort_keys=True).encode())
    for path in _sources(root):
        digest.update(f"\0{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _sources(root: Path) -> Iterable[Path]:
    found = {path for pattern in SOURCES for path in root.glob(pattern)}
    deployed = {path for path in found if not path.relative_to(root).as_posix().startswith(NOT_DEPLOYED)}
    return sorted(deployed)


def kept_assembly(root: Path, context: Mapping[str, Any]) -> Path | None:
    """Return the folder of the cached assembly of these sources and *context*, or None."""
    folder = _folder(root, context)
    if not folder.is_dir():
        return None
    folder.touch()
    return folder


def synthesise(root: Path, context: Mapping[str, Any]) -> Path:
    """Run the CDK app of the source tree *root* and return the folder of its assembly. Takes about 20 s."""
    if not (root / "infra" / "app.py").is_file():
        raise LocalRunError(
            f"{root} has no infra/app.py to synthesise: run from a clone, or use --template-dir"
        )
    kept = _folder(root, context)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=kept.parent, prefix="draft-") as draft:
        outdir = Path(draft) / "cdk.out"
        _run_app(root, context, outdir)
        # Another run may have finished first; its assembly is the same.
        if not kept.exists():
            outdir.rename(kept)
    _prune(kept.parent)
    return kept


def _folder(root: Path, context: Mapping[str, Any]) -> Path:
    return root / "build" / "local" / fingerprint(root, context)


def _run_app(root: Path, context: Mapping[str, Any], outdir: Path) -> None:
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root / "shared"), str(root)]),
        "CDK_OUTDIR": str(outdir),
        "CDK_CONTEXT_JSON": json.dumps(context),
    }
    command = [sys.executable, "-m", "fanin.local.synthesis", str(os.getpid()), str(outdir.parent)]
    app = subprocess.Popen(  # noqa: S603 - our own module
        command, cwd=root, env=env, stdout=PIPE, stderr=STDOUT, text=True, start_new_session=True
    )
    try:
        said, _ = app.communicate()
    except BaseException:
        os.killpg(app.pid, signal.SIGKILL)
        raise
    if app.returncode != 0:
        refused = [line for line in said.splitlines() if line.startswith("configuration: ")]
        if refused:
            raise LocalRunError(refused[-1])
        raise LocalRunError(f"the CDK app failed; run it alone with: make synth\n{said[-4000:]}")


def _prune(folder: Path) -> None:
    made = [path for path in folder.iterdir() if not path.name.startswith("draft-")]
    made.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in made[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
