"""The chunks that are done, in ``build/proof/done``: a file a part and fingerprint, a line a chunk."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from tests.proof.results import ROOT
from tests.proof.work import Chunk, Done, Part

FOLDER = ROOT / "build" / "proof" / "done"


class Journal:
    """The done chunks of one part over one state of its code; a run of another size may have done more."""

    def __init__(self, part: Part, fingerprint: str) -> None:
        self.part, self.fingerprint = part, fingerprint
        wanted = {chunk.key for chunk in part.chunks}
        self.done = {key: done for key, done in map(_read, self._lines()) if key in wanted}

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.part.id}-{self.fingerprint}.jsonl"

    def keep(self, chunk: Chunk, done: Done) -> None:
        """Append a chunk."""
        self.done[chunk.key] = done
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps({"key": chunk.key, **asdict(done)}) + "\n")

    def total(self) -> Done:
        """Return what the chunks of the part came to."""
        total = Done()
        for chunk in self.part.chunks:
            total.add(self.done.get(chunk.key, Done()))
        return total

    def is_complete(self) -> bool:
        return all(chunk.key in self.done for chunk in self.part.chunks)

    def _lines(self) -> list[str]:
        """Return the whole lines; a run that was killed may have left half a line."""
        text = self.path.read_text() if self.path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self.path.write_text(whole)
        return whole.splitlines()


def _read(line: str) -> tuple[str, Done]:
    found = json.loads(line)
    return found.pop("key"), Done(**found)
