"""What is run: parts, one a row of the table, in chunks that are kept when they are done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields


@dataclass(slots=True)
class Done:
    """What a chunk or a part came to. *violations*: texts with the command that replays them."""

    runs: int = 0
    requests: int = 0
    faults: int = 0
    cpu: float = 0.0
    violations: list[str] = field(default_factory=list)

    def add(self, other: Done) -> None:
        for each in fields(Done):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a part, done in one go by a process of its own. *key* is its name in the part."""

    key: str
    work: Callable[[], Done]


@dataclass(frozen=True, slots=True)
class Part:
    """One row. *module* is what it imports: a change of that code begins the part anew.

    *span*: what the runs are, in a few characters.
    """

    stage: str
    name: str
    module: str
    span: str
    chunks: tuple[Chunk, ...]

    @property
    def id(self) -> str:
        return re.sub(r"[^a-z]+", "-", f"{self.stage} {self.name}")


def evenly(parts: Iterable[tuple[Part, set[str]]]) -> Iterator[tuple[Part, Chunk]]:
    """Yield the chunks that are not done yet, so that all parts get on alike."""
    left = [
        (number / len(part.chunks), part.id, number, part)
        for part, done in parts
        for number, chunk in enumerate(part.chunks)
        if chunk.key not in done
    ]
    for _, _, number, part in sorted(left, key=lambda each: each[:3]):
        yield part, part.chunks[number]
