"""The files of the archive: JSON lines of stream records, gzipped or not, a folder for each kind of table.

    changes/table=pages/date=2026-01-02/hour=13/....jsonl.gz

An object lies under the hour of its first change. Where a user's own Kinesis stream or Firehose writes the
files, any names below ``table=<kind>/`` will do; without a date in the path, no day is passed over.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import pyarrow.fs

from pipeline.acks import LogFile
from pipeline.files import located

KINDS = ("pages", "batches", "tasks", "bundles", "jobs")
_DAY = re.compile(r"/date=(\d{4}-\d{2}-\d{2})/")


class NotAnArchive(ValueError):
    """The folder holds no archive; the message says what it should hold."""


@dataclass(frozen=True, slots=True)
class Days:
    """The days to look at, in UTC, both inclusive; None is no limit."""

    since: date | None = None
    until: date | None = None

    def hold(self, path: str) -> bool:
        """Whether the file at *path* may have changes of these days."""
        found = _DAY.search(path)
        if found is None:
            return True
        day = date.fromisoformat(found[1])
        return (self.since is None or day >= self.since) and (self.until is None or day <= self.until)


@dataclass(frozen=True, slots=True)
class Archive:
    """The folder with the ``table=`` folders: a path, or an ``s3://`` URI as pyarrow reads it."""

    root: str

    def files(self, kind: str, days: Days) -> list[LogFile]:
        """The files of a *kind* of table."""
        system, folder = located(self.root)
        selector = pyarrow.fs.FileSelector(f"{folder}/table={kind}", allow_not_found=True, recursive=True)
        found = [each for each in system.get_file_info(selector) if each.is_file and each.size]
        return sorted(
            (LogFile(f.path, f.size) for f in found if days.hold(f.path)), key=lambda file: file.path
        )

    def check(self) -> None:
        """Raise NotAnArchive where the folder is not there, or holds other things only."""
        system, folder = located(self.root)
        selector = pyarrow.fs.FileSelector(folder, allow_not_found=True)
        names = [each.base_name for each in system.get_file_info(selector)]
        there = system.get_file_info(folder).type is not pyarrow.fs.FileType.NotFound
        if not there or (names and not any(f"table={kind}" in names for kind in KINDS)):
            raise NotAnArchive(f"{self.root} holds no folder table=pages: name the archive's folder changes")

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of a file; what its suffix says is compressed comes unpacked."""
        system, _ = located(self.root)
        with system.open_input_stream(path) as stream:
            yield from io.BufferedReader(stream)
