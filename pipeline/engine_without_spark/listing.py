"""Lists files as Spark does: paths, folders with everything below them, and patterns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pyarrow.fs
from pyarrow.fs import FileInfo, FileSelector, FileType

from pipeline.shared_by_jobs.files import ListedFile, as_spark_names

ON_THIS_MACHINE = "file:"
"""How the paths of listed files begin that are on this machine."""
_PATTERN = re.compile(r"[*?\[]")
_CHOICE = re.compile(r"\{([^{}]*)\}")


class NotListed(ValueError):
    """A path does not exist, or is of a file system that Arrow does not know; the message names it."""


def listed(paths: Sequence[str]) -> list[ListedFile]:
    """Return the files in *paths* by name, each once, without hidden ones. Raises NotListed."""
    found = {file.path: file for path in paths for file in _files(path)}
    return [found[name] for name in sorted(found)]


def _files(path: str) -> Iterator[ListedFile]:
    try:
        place = _placed(path)
        below = place.inner.removeprefix(place.root).lstrip("/")
        roots = [info for each in _choices(below) for info in _matching(place, place.root, each.split("/"))]
        found = [info for root in roots for info in _below(place.system, root)]
    except (OSError, ValueError, KeyError) as error:
        raise NotListed(f"{path} cannot be listed: {error}") from error
    if not roots:
        raise NotListed(f"path does not exist: {place.head}{place.inner.removeprefix(place.root)}")
    return (ListedFile(place.head + info.path.removeprefix(place.root), info.size) for info in found)


@dataclass(frozen=True, slots=True)
class _Place:
    """A path as Arrow takes it: *inner* in *system*, below *root*, which is *head* in Spark's notation."""

    system: pyarrow.fs.FileSystem
    inner: str
    root: str
    head: str


def _placed(path: str) -> _Place:
    scheme, has_bucket, location = path.partition("://")
    if not has_bucket or scheme == "file":
        system, inner = as_spark_names(path)
        return _Place(system, os.path.abspath(inner), "", "file:")
    head = f"{scheme}://{location.partition('/')[0]}"
    root = as_spark_names(head)[1].rstrip("/")
    return _Place(*as_spark_names(path.rstrip("/")), root, head)


def _choices(pattern: str) -> Iterator[str]:
    """Yield the patterns that ``{a,b}`` stands for."""
    found = _CHOICE.search(pattern)
    if found is None:
        yield pattern
        return
    for choice in found[1].split(","):
        yield from _choices(pattern[: found.start()] + choice + pattern[found.end() :])


def _matching(place: _Place, base: str, parts: Sequence[str]) -> Iterator[FileInfo]:
    """Yield what is at *parts*, names or patterns, below *base*."""
    if not any(parts):
        info = place.system.get_file_info(base or "/")
        if info.type != FileType.NotFound:
            yield info
        return
    name, *others = parts
    if not _PATTERN.search(name):
        yield from _matching(place, f"{base}/{name}", others)
        return
    for info in place.system.get_file_info(FileSelector(base or "/", allow_not_found=True)):
        if fnmatchcase(info.base_name, name.replace("[^", "[!")):
            yield from _matching(place, info.path, others)


def _below(system: pyarrow.fs.FileSystem, root: FileInfo) -> Iterator[FileInfo]:
    """Yield the files at *root* and below it that Spark does not hide."""
    if root.type == FileType.File:
        found, folder = [root], root.path.rpartition("/")[0]
    else:
        found, folder = system.get_file_info(FileSelector(root.path, recursive=True)), root.path
    for info in found:
        names = info.path.removeprefix(folder).strip("/").split("/")
        if info.type == FileType.File and not any(map(_is_hidden, names)):
            yield info


def _is_hidden(name: str) -> bool:
    """Return whether Spark skips files and folders of this name."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")
