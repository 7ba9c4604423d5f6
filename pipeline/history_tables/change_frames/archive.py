"""Lists and reads the archive: JSON lines of stream records, gzipped or not, one folder per kind of table.

    changes/table=pages/date=2026-01-02/hour=13/....jsonl.gz

An object is under the hour of its first change. Files written by a user's own Kinesis stream or Firehose may
have any name below ``table=<kind>/``; a file without a date in its path is read for every day.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import pyarrow.fs

from pipeline.shared_by_jobs.files import ListedFile, located

KINDS = ("pages", "batches", "tasks", "bundles", "jobs")
_DAY = re.compile(r"/date=(\d{4}-\d{2}-\d{2})/")


class NotAnArchive(ValueError):
    """The folder does not hold an archive; the message says what it should hold."""


@dataclass(frozen=True, slots=True)
class Days:
    """The days to read, in UTC, both inclusive; None is no limit."""

    since: date | None = None
    until: date | None = None

    def hold(self, path: str) -> bool:
        """Return whether the file at *path* may have changes of these days."""
        found = _DAY.search(path)
        if found is None:
            return True
        day = date.fromisoformat(found[1])
        return (self.since is None or day >= self.since) and (self.until is None or day <= self.until)


@dataclass(frozen=True, slots=True)
class Archive:
    """The folder with the ``table=`` folders: a path, or an ``s3://`` URI as pyarrow reads it."""

    root: str

    def files(self, kind: str, days: Days) -> list[ListedFile]:
        """Return the files of a *kind* of table."""
        system, folder = located(self.root)
        selector = pyarrow.fs.FileSelector(f"{folder}/table={kind}", allow_not_found=True, recursive=True)
        found = [each for each in system.get_file_info(selector) if each.is_file and each.size]
        return sorted(
            (ListedFile(f.path, f.size) for f in found if days.hold(f.path)), key=lambda file: file.path
        )

    def check(self) -> None:
        """Raise NotAnArchive if the folder does not exist, or holds only other things."""
        system, folder = located(self.root)
        selector = pyarrow.fs.FileSelector(folder, allow_not_found=True)
        names = [each.base_name for each in system.get_file_info(selector)]
        there = system.get_file_info(folder).type is not pyarrow.fs.FileType.NotFound
        if not there or (names and not any(f"table={kind}" in names for kind in KINDS)):
            raise NotAnArchive(f"{self.root} holds no folder table=pages: name the archive's folder changes")

    def lines(self, path: str) -> Iterator[bytes]:
        """Yield the lines of a file, decompressed by its suffix."""
        system, _ = located(self.root)
        with system.open_input_stream(path) as stream:
            yield from io.BufferedReader(stream)
