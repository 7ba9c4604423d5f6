"""Changes of the source files of an app: which Python files there are, their sizes and times of change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

Fact = tuple[str, int, int]


class SourceChanges:
    """Whether Python files changed in *folder*, or beside the files that are included, since they were."""

    def __init__(self, folder: Path) -> None:
        self._seen: dict[Path, frozenset[Fact]] = {}
        self._include(folder)

    def include(self, files: Iterable[Path]) -> None:
        """Look at the folders of *files* too, from now on."""
        for file in files:
            self._include(file.parent)

    def is_any(self) -> bool:
        """Return whether a file is new, gone or changed."""
        return any(frozenset(_facts(folder)) != before for folder, before in self._seen.items())

    def _include(self, folder: Path) -> None:
        if folder not in self._seen:
            self._seen[folder] = frozenset(_facts(folder))


def _facts(folder: Path) -> Iterator[Fact]:
    for file in folder.glob("*.py"):
        with suppress(OSError):  # an editor replaces it just now
            stat = file.stat()
            yield str(file), stat.st_size, stat.st_mtime_ns
