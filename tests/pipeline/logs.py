"""Ack logs as a test writes them, in each format."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ("item_id", "outcome", "reason")

Row = str | tuple[str | None, ...]


def columns(rows: Sequence[Row]) -> dict[str, list[str | None]]:
    """Rows as columns: an id; or an id, its outcome and, if given, its reason."""
    full = [((row,) if isinstance(row, str) else row) + (None, None) for row in rows]
    return {name: [row[at] for row in full] for at, name in enumerate(NAMES)}


def write_log(path: Path, rows: Sequence[Row]) -> Path:
    """Write *rows* in the format that the name says; the path again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found = columns(rows)
    if path.suffix == ".parquet":
        pq.write_table(
            pa.table({name: pa.array(column, pa.string()) for name, column in found.items()}), path
        )
        return path
    with path.open("w", newline="") as file:
        table = zip(*found.values(), strict=True)
        if path.suffix.lower() == ".csv":
            csv.writer(file).writerows([NAMES, *table])
        else:
            file.writelines(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in table)
    return path
