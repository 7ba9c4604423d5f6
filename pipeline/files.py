"""Where files lie: on this machine, or behind a URI such as ``s3://``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import pyarrow.fs


def suffix(path: str, packings: Sequence[str]) -> str:
    """The last suffix of *path* but for one of *packings*: what its name says of its format."""
    name = PurePosixPath(path.rstrip("/"))
    return (name.with_suffix("") if name.suffix in packings else name).suffix


def known(formats: Iterable[str], packings: Iterable[str]) -> str:
    """How names end, in words."""
    return f"{', '.join(formats)}; one that is compressed in {', '.join(packings)} after it"


def whole(path: str) -> str:
    """*path* as every process understands it: a URI, or from the root on."""
    return path.rstrip("/") if "://" in path else os.path.abspath(path)


def located(path: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """The file system of *path*, and the path within it."""
    system, inner = pyarrow.fs.FileSystem.from_uri(whole(path))
    return system, inner
