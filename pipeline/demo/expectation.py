"""What the index must hold in the end, read from the dataset itself and without Spark."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

OPENERS: dict[str, Callable[..., IO[str]]] = {".bz2": bz2.open, ".gz": gzip.open}
LINES = (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True, slots=True)
class Expectation:
    """*items* records, and the index *keys* that they make: fewer where records name the same package."""

    items: int
    keys: frozenset[str]


def problem_of(dataset: Path) -> str | None:
    """What keeps *dataset* from being one, and what to do; None where nothing does."""
    if not dataset.is_file():
        return f"--dataset {dataset}: there is no such file"
    if _uncompressed(dataset).suffix not in LINES:
        return (
            f"--dataset {dataset}: the name must end in one of {', '.join(LINES)}, perhaps with .gz or .bz2"
        )
    return None


def read(dataset: Path, limit: int | None = None) -> Expectation:
    """What the first *limit* records of *dataset* make; ValueError names a line that is no package."""
    keys = [_key(number, line) for number, line in islice(_lines(dataset), limit)]
    return Expectation(len(keys), frozenset(keys))


def _lines(dataset: Path) -> Iterator[tuple[int, str]]:
    with OPENERS.get(dataset.suffix, open)(dataset, "rt", encoding="utf-8") as file:
        # Spark passes over blank lines too.
        yield from ((number, line) for number, line in enumerate(file, start=1) if line.strip())


def _key(number: int, line: str) -> str:
    """As Debian names its files, and as the worker names its rows."""
    try:
        record: Any = json.loads(line)
        return f"{record['name']}_{record['version']}"
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"line {number} of the dataset is no package: it needs a name and a version, as in data/NOTICE.md"
        ) from error


def _uncompressed(dataset: Path) -> Path:
    return dataset.with_suffix("") if dataset.suffix in OPENERS else dataset
