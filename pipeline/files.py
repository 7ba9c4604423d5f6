"""Where files lie: on this machine, or behind a URI such as ``s3://``."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

import pyarrow.fs

PACKED = (".bz2", ".gz", ".lz4", ".zst")
"""Suffixes of compressed text that its readers unpack."""


def suffix(path: str) -> str:
    """The last suffix of *path* but for a compression's: what its name says of its format."""
    name = PurePosixPath(path.rstrip("/"))
    return (name.with_suffix("") if name.suffix in PACKED else name).suffix


def whole(path: str) -> str:
    """*path* as every process understands it: a URI, or from the root on."""
    return path.rstrip("/") if "://" in path else os.path.abspath(path)


def located(path: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """The file system of *path*, and the path within it."""
    system, inner = pyarrow.fs.FileSystem.from_uri(whole(path))
    return system, inner
