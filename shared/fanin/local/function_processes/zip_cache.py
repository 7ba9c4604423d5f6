"""Writes and unpacks a zip once for all workers; on AWS they share a read-only folder."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import threading
import zipfile
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Self

LINK = b"fanin-local: "
"""The comment of a zip without files starts with it, and ends with the folder that has them."""
_one_at_a_time = threading.Lock()


def link_to(folder: Path) -> bytes:
    """Return a zip that SharedZip unpacks as a link to *folder*, which must stay while the run is there."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = LINK + os.fsencode(folder)
    return buffer.getvalue()


class SharedZip(zipfile.ZipFile):
    """A zip whose ``extractall`` links to one folder for equal content, so Python compiles it once too."""

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        """Replace the empty folder *path* by a link to the content; extract *members* as usual."""
        if path is None or members is not None:
            super().extractall(path, members, pwd)
            return
        content = self._content
        with _one_at_a_time:
            if not content.exists():
                draft = tempfile.mkdtemp(dir=content.parent)
                super().extractall(draft, pwd=pwd)
                Path(draft).rename(content)
        os.rmdir(path)
        os.symlink(content, path)

    def namelist(self) -> list[str]:
        """Return the names, none if they were unpacked: the emulator checks each of 1,500 for a worker."""
        return [] if self._content.exists() else super().namelist()

    @cached_property
    def _content(self) -> Path:
        """The shared folder of this content, among the run's temporary files or as its link says."""
        if self.comment.startswith(LINK):
            return Path(os.fsdecode(self.comment.removeprefix(LINK)))
        facts = [(each.filename, each.CRC, each.file_size) for each in self.infolist()]
        shared = Path(tempfile.gettempdir()) / "unpacked"
        shared.mkdir(exist_ok=True)
        return shared / hashlib.sha256(repr(facts).encode()).hexdigest()


class LinkedFile:
    """A file at *path* for one ``write``: a link to the file that was first written with these bytes."""

    _written: ClassVar[dict[int, tuple[bytes, str]]] = {}
    """The first file of each object, by its id; the object is kept, so that no other one gets its id."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the link: its file is closed."""

    def write(self, content: bytes) -> int:
        """Link to the file of *content*, which is written if there is none."""
        with _one_at_a_time:
            _, first = self._written.setdefault(id(content), (content, ""))
            if not first or not os.path.exists(first):
                self._written[id(content)] = content, (first := _saved(content))
        os.link(first, self.path)
        return len(content)


def _saved(content: bytes) -> str:
    """Write *content* to a file that stays until the run ends; return its path."""
    with tempfile.NamedTemporaryFile(suffix=".zip", delete=False) as file:
        file.write(content)
    return file.name


def open_linked(path: str, mode: str = "r", *args: Any, **options: Any) -> Any:
    """Open a file as ``open`` does; a zip that is written is a LinkedFile."""
    if mode == "wb" and path.endswith(".zip"):
        return LinkedFile(path)
    return open(path, mode, *args, **options)


def sharing() -> Any:
    """Return a copy of the module ``zipfile`` whose ``ZipFile`` is SharedZip."""
    return SimpleNamespace(**{**vars(zipfile), "ZipFile": SharedZip})
