"""Computes the expected index from the dataset itself, without Spark."""

from __future__ import annotations

import bz2
import gzip
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

OPENERS: dict[str, Callable[..., IO[str]]] = {".bz2": bz2.open, ".gz": gzip.open}
LINES = (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True, slots=True)
class Expectation:
    """*items* records, and their index *keys*, fewer if records name the same package.

    *bundled*: the number of records per key that go to the batch API; *queued*: to the work queue.
    """

    items: int
    keys: frozenset[str]
    bundled: Mapping[str, int] = field(default_factory=dict)
    queued: Mapping[str, int] = field(default_factory=dict)


def problem_of(dataset: Path) -> str | None:
    """Return why *dataset* cannot be used, and what to do; None if it can."""
    if not dataset.is_file():
        return f"--dataset {dataset}: there is no such file"
    if _uncompressed(dataset).suffix not in LINES:
        return (
            f"--dataset {dataset}: the name must end in one of {', '.join(LINES)}, perhaps with .gz or .bz2"
        )
    return None


def read(
    dataset: Path, limit: int | None = None, bundled: Collection[str] = (), queued: Collection[str] = ()
) -> Expectation:
    """Return the expectation for the first *limit* records of *dataset*.

    *bundled*, *queued*: the sections for the batch API and for the work queue.

    Raises ValueError for a line that is not a package.
    """
    records = [_package(number, line) for number, line in islice(_lines(dataset), limit)]
    of_bundles, of_jobs = (
        Counter(key for key, section in records if section in sections) for sections in (bundled, queued)
    )
    return Expectation(len(records), frozenset(key for key, _ in records), of_bundles, of_jobs)


def _lines(dataset: Path) -> Iterator[tuple[int, str]]:
    with OPENERS.get(dataset.suffix, open)(dataset, "rt", encoding="utf-8") as file:
        # Spark skips blank lines too.
        yield from ((number, line) for number, line in enumerate(file, start=1) if line.strip())


def _package(number: int, line: str) -> tuple[str, str]:
    """Return the key, in the form of Debian's file names and the worker's rows, and the section."""
    try:
        record: Any = json.loads(line)
        return f"{record['name']}_{record['version']}", str(record.get("section"))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"line {number} of the dataset is no package: it needs a name and a version, as in data/NOTICE.md"
        ) from error


def _uncompressed(dataset: Path) -> Path:
    return dataset.with_suffix("") if dataset.suffix in OPENERS else dataset
