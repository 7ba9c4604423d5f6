"""Where files lie: on this machine, or behind a URI such as ``s3://``."""

from __future__ import annotations

import os

import pyarrow.fs


def whole(path: str) -> str:
    """*path* as every process understands it: a URI, or from the root on."""
    return path.rstrip("/") if "://" in path else os.path.abspath(path)


def located(path: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """The file system of *path*, and the path within it."""
    system, inner = pyarrow.fs.FileSystem.from_uri(whole(path))
    return system, inner
