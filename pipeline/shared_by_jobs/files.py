"""Names, locations and sizes of files: on this machine, or behind a URI such as ``s3://``."""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import PurePosixPath

import pyarrow.fs

BYTES_A_TASK = 64 << 20
_LOCAL_SCHEMES = ("file", "dbfs")
"""Databricks names files of a volume ``dbfs:/Volumes/...``, and mounts them at that path."""
_HADOOP_SCHEMES = {"s3a": "s3", "s3n": "s3"}
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
"""The name of a folder or file may have a colon."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as it was listed: its path, and its size in bytes."""

    path: str
    size: int


def shares(files: Sequence[ListedFile], slots: int, bytes_a_task: int = BYTES_A_TASK) -> list[list[str]]:
    """Return the paths of *files* in one list per task, of about the same size in bytes.

    The largest file goes first, each to the task that has the least. There is at least one task per slot,
    where there are so many files.
    """
    count = max(1, min(len(files), max(slots, ceil(sum(file.size for file in files) / bytes_a_task))))
    tasks: list[list[str]] = [[] for _ in range(count)]
    sizes = [(0, number) for number in range(count)]
    for file in sorted(files, key=lambda file: (-file.size, file.path)):
        size, number = sizes[0]
        heapq.heapreplace(sizes, (size + file.size, number))
        tasks[number].append(file.path)
    return tasks


def suffix(path: str, compressions: Sequence[str]) -> str:
    """Return the suffix of *path* that names its format: the last one that is not of a compression."""
    name = PurePosixPath(path.rstrip("/"))
    return (name.with_suffix("") if name.suffix in compressions else name).suffix


def known(formats: Iterable[str], compressions: Iterable[str]) -> str:
    """Return the accepted suffixes as a phrase for an error message."""
    return f"{', '.join(formats)}; a compressed file adds {', '.join(compressions)}"


def whole(path: str) -> str:
    """Return *path* as every process understands it: a URI, or an absolute path."""
    return path.rstrip("/") if "://" in path or path.startswith("file:") else os.path.abspath(path)


def as_spark_names(path: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Return the file system of *path*, and the path within it.

    Unlike `located` it takes Spark's notation: a URI whose characters are not escaped.
    """
    scheme, _, location = path.partition(":")
    if not _URI.match(path):
        return pyarrow.fs.LocalFileSystem(), path
    if scheme in _LOCAL_SCHEMES:
        return pyarrow.fs.LocalFileSystem(), "/" + location.lstrip("/")
    bucket, _, key = location.lstrip("/").partition("/")
    system, root = pyarrow.fs.FileSystem.from_uri(f"{_HADOOP_SCHEMES.get(scheme, scheme)}://{bucket}")
    return system, f"{root}/{key}"


def located(path: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Return the file system of *path*, and the path within it."""
    system, inner = pyarrow.fs.FileSystem.from_uri(whole(path))
    return system, inner
