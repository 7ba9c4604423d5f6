"""A file of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fanin.errors import InvalidRequest
from fanin.publishing.row_sources.formats import check_suffix, header_of, rows_of, title_of
from fanin.publishing.row_sources.source import NumberedRow


@dataclass(frozen=True, slots=True)
class FileSource:
    """The rows of a file. Other rows in it are another batch."""

    path: Path
    is_kept: bool = False

    @property
    def name(self) -> str:
        """Return its path."""
        return str(self.path)

    @property
    def title(self) -> str:
        """Return the name of the file, without suffix."""
        return title_of(self.name)

    def rows(self) -> Iterator[NumberedRow]:
        """Yield the rows. Raises UnreadableRow, and InvalidRequest for no file."""
        with self._open() as file:
            yield from rows_of(self.name, file)

    def header(self) -> list[str]:
        """Return the names in the header line of CSV."""
        with self._open() as file:
            return header_of(self.name, file)

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        try:
            with self.path.open("rb") as file:
                yield file
        except OSError as error:
            raise InvalidRequest(f"{self.path} cannot be read: {error.strerror}", field="file") from error

    def check(self) -> None:
        """Refuse a file that is not there, cannot be opened, or has another suffix. Raises InvalidRequest."""
        check_suffix(self.name)
        with self._open():
            pass
