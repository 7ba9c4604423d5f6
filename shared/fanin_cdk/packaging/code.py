"""The project's own code as one zip: ``functions/`` and the package ``fanin`` side by side."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from fanin_cdk.packaging.paths import FUNCTIONS, PACKAGE

# The command, dashboard, local run, report and what tests use are not part of a Lambda function.
LEFT_OUT = frozenset({"cli", "dashboard", "local", "report", "testing"})
# Nor is the HTTP edge part of a client, which has no Powertools and no pydantic.
NOT_OF_CLIENT = LEFT_OUT | {"api", "archive"}


def assemble(folder: Path, functions: Path = FUNCTIONS, package: Path = PACKAGE) -> None:
    """Copy what a Lambda function imports into *folder*, which then holds ``functions`` and ``fanin``."""
    _copy_sources(functions, folder / "functions", left_out=frozenset())
    _copy_sources(package, folder / "fanin", left_out=LEFT_OUT)


def assemble_client(folder: Path, package: Path = PACKAGE) -> None:
    """Copy what a user's function imports into *folder*, which then holds ``fanin``."""
    _copy_sources(package, folder / "fanin", left_out=NOT_OF_CLIENT)


def client_digest(package: Path = PACKAGE) -> bytes:
    """Return the SHA-256 of what assemble_client copies, which is the same on each machine."""
    return _digest([(package, NOT_OF_CLIENT)])


def digest(functions: Path = FUNCTIONS, package: Path = PACKAGE) -> bytes:
    """Return the SHA-256 of what assemble copies, which is the same on each machine."""
    return _digest([(functions, frozenset()), (package, LEFT_OUT)])


def _digest(folders: Sequence[tuple[Path, Collection[str]]]) -> bytes:
    content = hashlib.sha256()
    for folder, left_out in folders:
        for inside in sources(folder, left_out):
            content.update(f"{folder.name}/{inside.as_posix()}\0".encode())
            content.update(hashlib.sha256((folder / inside).read_bytes()).digest())
    return content.digest()


def sources(folder: Path, left_out: Collection[str]) -> Iterator[Path]:
    """Yield the modules below *folder*, relative to it and sorted, without the top-level names in *left_out*.

    Only Python sources, so no file of an editor, a cache or an environment is deployed.
    """
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder)
        if inside.parts[0] not in left_out:
            yield inside


def _copy_sources(source: Path, target: Path, left_out: Collection[str]) -> None:
    for inside in sources(source, left_out):
        (target / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / inside, target / inside)
