"""Unpacks a zip once for all workers, which share the folder as they share a read-only one on AWS."""

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
    """A zip whose ``extractall`` links to one folder for equal content, so Python compiles it once too."""

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        """Replace the empty folder *path* by a link to the content; extract *members* as usual."""
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
        """Return the shared folder of this content, among the run's temporary files."""
        facts = [(each.filename, each.CRC, each.file_size) for each in self.infolist()]
        shared = Path(tempfile.gettempdir()) / "unpacked"
        shared.mkdir(exist_ok=True)
        return shared / hashlib.sha256(repr(facts).encode()).hexdigest()


def sharing() -> Any:
    """Return a copy of the module ``zipfile`` whose ``ZipFile`` is SharedZip."""
    return SimpleNamespace(**{**vars(zipfile), "ZipFile": SharedZip})
