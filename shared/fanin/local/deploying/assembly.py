"""The cloud assembly: read from a folder, or synthesised by the CDK app and cached."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT
from tempfile import TemporaryDirectory
from typing import Any

from fanin.local.deployment_source import Origin
from fanin.local.errors import LocalRunError
from fanin.local.function_processes.zip_cache import link_to

COMPILED = re.compile(r"\.cpython-(\d)(\d+)-[^/]*\.so$")
"""The name of a module in C, which one version of Python imports."""
KEPT = 6
"""The number of cached assemblies; older ones are removed."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file to upload under *key*; for a folder, its zip, or a link to it if it is cached."""

    path: Path
    key: str
    is_folder: bool
    is_cached: bool = False

    def content(self) -> bytes:
        """Return the bytes to upload."""
        if not self.is_folder:
            return self.path.read_bytes()
        return link_to(self.path) if self.is_cached else zipped(self.path)

    def names(self) -> Iterator[str]:
        """Yield the names of the files in a folder or a zip."""
        if self.path.is_dir():
            yield from (path.name for path in self.path.rglob("*"))
        elif zipfile.is_zipfile(self.path):
            with zipfile.ZipFile(self.path) as archive:
                yield from archive.namelist()


@dataclass(frozen=True, slots=True)
class Assembly:
    """One stack of a cloud assembly: its name, its template, and the template's assets."""

    stack: str
    template: Mapping[str, Any]
    assets: tuple[Asset, ...]

    @classmethod
    def read(cls, folder: Path, is_cached: bool = False) -> Assembly:
        """Return the one stack of *folder*, a cloud assembly, or raise LocalRunError."""
        manifests = sorted(folder.glob("*.assets.json"))
        if len(manifests) != 1:
            raise LocalRunError(
                f"{folder} holds {len(manifests)} stacks, not one; name an output folder of `cdk synth`"
            )
        stack = manifests[0].name.removesuffix(".assets.json")
        files = json.loads(manifests[0].read_text())["files"].values()
        template = json.loads((folder / f"{stack}.template.json").read_text())
        return cls(stack, template, tuple(_asset(folder, file, is_cached) for file in files))


def _asset(folder: Path, file: Mapping[str, Any], is_cached: bool) -> Asset:
    source = file["source"]
    (destination,) = file["destinations"].values()
    return Asset(folder / source["path"], destination["objectKey"], source["packaging"] == "zip", is_cached)


def require_python(assembly: Assembly, folder: Path, own: tuple[int, int] = sys.version_info[:2]) -> None:
    """Raise LocalRunError if functions of *assembly* have compiled modules, but none for Python *own*."""
    names = (name for asset in assembly.assets for name in asset.names())
    built = {(int(found[1]), int(found[2])) for name in names if (found := COMPILED.search(name))}
    if built and own not in built:
        other, ours = (".".join(map(str, version)) for version in (max(built), own))
        raise LocalRunError(
            f"the functions in {folder} are built for Python {other}, and this is Python {ours}, which cannot"
            f" import them. Synthesise them with the context target=local under Python {ours}, or run fanin"
            f" under {other}: uv tool install --python {other} 'fanin[local]'"
        )


def zipped(folder: Path, compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip of *folder*, with the same bytes for the same files; uncompressed for this machine."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())  # of 1980
                entry.external_attr = (0o755 if path.stat().st_mode & 0o100 else 0o644) << 16
                archive.writestr(entry, path.read_bytes(), compression)
    return buffer.getvalue()


def fingerprint(origin: Origin, context: Mapping[str, Any]) -> str:
    """Return a hash of the sources, the context, this Python and machine; 16 hex digits."""
    digest = hashlib.sha256(json.dumps([context, sys.version, platform.platform()], sort_keys=True).encode())
    for path in origin.files():
        digest.update(f"\0{path.relative_to(origin.folder).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def kept_assembly(origin: Origin, context: Mapping[str, Any]) -> Path | None:
    """Return the folder of the cached assembly of these sources and *context*, or None."""
    folder = _folder(origin, context)
    if not folder.is_dir():
        return None
    folder.touch()
    return folder


def hold(folder: Path) -> int:
    """Return a descriptor that keeps the cached assembly *folder* from removal until it is closed."""
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def synthesise(origin: Origin, context: Mapping[str, Any]) -> Path:
    """Run the CDK app of *origin*, unless another process just did, and return the folder of its assembly.

    Takes about 20 s.
    """
    kept = _folder(origin, context)
    _make_cache(kept.parent)
    with _alone(kept):
        if not kept.is_dir():
            with TemporaryDirectory(dir=kept.parent, prefix="draft-") as draft:
                outdir = Path(draft) / "cdk.out"
                run_app(origin, context, outdir)
                outdir.rename(kept)
    _prune(kept.parent)
    return kept


@contextmanager
def _alone(kept: Path) -> Iterator[None]:
    """Hold a lock on the assembly *kept*, which the death of its holder releases, too."""
    path = kept.with_name(f"draft-{kept.name}")
    while True:
        with path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_at(path, lock.fileno()):  # else its holder removed it meanwhile
                try:
                    yield
                finally:
                    path.unlink()
                return


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _folder(origin: Origin, context: Mapping[str, Any]) -> Path:
    return origin.cache / fingerprint(origin, context)


def _make_cache(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LocalRunError(f"{folder} cannot be created ({error.strerror}); set XDG_CACHE_HOME") from error


def run_app(origin: Origin, context: Mapping[str, Any], outdir: Path) -> str:
    """Run the CDK app of *origin*, which writes its assembly into *outdir*; return its output."""
    env = {
        # The check of the CDK takes longer than the synthesis, and the emulator has rules of its own.
        "CDK_VALIDATION": "false",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, origin.paths)),
        "CDK_OUTDIR": str(outdir),
        "CDK_CONTEXT_JSON": json.dumps(context),
    }
    module = [sys.executable, "-m", "fanin.local.deploying.synthesis"]
    command = [*module, str(os.getpid()), str(outdir.parent), origin.app]
    app = subprocess.Popen(  # noqa: S603 - our own module
        command, cwd=outdir.parent, env=env, stdout=PIPE, stderr=STDOUT, text=True, start_new_session=True
    )
    try:
        output, _ = app.communicate()
    except BaseException:
        os.killpg(app.pid, signal.SIGKILL)
        raise
    if app.returncode != 0:
        raise LocalRunError(_failure(output))
    return output


def _failure(output: str) -> str:
    refused = [line for line in output.splitlines() if line.startswith("configuration: ")]
    return refused[-1] if refused else f"the CDK app failed:\n{output[-4000:]}"


def _prune(folder: Path) -> None:
    """Remove the assemblies that were used longest ago; another run may do the same meanwhile."""
    used: dict[Path, float] = {}
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if not path.name.startswith("draft-"):
                used[path] = path.stat().st_mtime
    for old in sorted(used, key=used.__getitem__, reverse=True)[KEPT:]:
        _remove_unless_held(old)


def _remove_unless_held(folder: Path) -> None:
    with suppress(OSError):  # a run holds it, or another one removed it
        descriptor = hold(folder)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)
