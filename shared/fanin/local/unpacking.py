"""Unpacks the same zip once: its workers share the folder, as they share a read-only one on AWS."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_one_at_a_time = threading.Lock()


class SharedZip(zipfile.ZipFile):
    """A zip whose ``extractall`` puts a link to the one folder of its content in the place of a folder.

    What Python compiles there is compiled once, too, and not once a worker.
    """

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        """Turn the empty folder at *path* into the zip's content; for a part of it, as ever."""
        if path is None or members is not None:
            super().extractall(path, members, pwd)
            return
        content = self._folder()
        with _one_at_a_time:
            if not content.exists():
                draft = tempfile.mkdtemp(dir=content.parent)
                super().extractall(draft, pwd=pwd)
                Path(draft).rename(content)
        os.rmdir(path)
        os.symlink(content, path)

    def _folder(self) -> Path:
        """Where this content lies, among the run's temporary files."""
        facts = [(each.filename, each.CRC, each.file_size) for each in self.infolist()]
        shared = Path(tempfile.gettempdir()) / "unpacked"
        shared.mkdir(exist_ok=True)
        return shared / hashlib.sha256(repr(facts).encode()).hexdigest()


def sharing() -> Any:
    """The module ``zipfile`` with a ``ZipFile`` that shares."""
    return SimpleNamespace(**{**vars(zipfile), "ZipFile": SharedZip})
