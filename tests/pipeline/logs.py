"""Ack logs as a test writes them, in each format."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ("item_id", "outcome", "reason")
NUMBERS = ("index", "first", "last")

Row = str | tuple[str | None, ...]
Columns = Mapping[str, Sequence[str | int | None]]


def columns(rows: Sequence[Row]) -> dict[str, list[str | None]]:
    """Rows as columns: an id; or an id, its outcome and, if given, its reason."""
    full = [((row,) if isinstance(row, str) else row) + (None, None) for row in rows]
    return {name: [row[at] for row in full] for at, name in enumerate(NAMES)}


def write_log(path: Path, rows: Sequence[Row]) -> Path:
    """Write *rows* in the format that the name says; the path again."""
    return write_columns(path, columns(rows))


def write_columns(path: Path, found: Columns) -> Path:
    """Write columns of a log in the format that the name says; the path again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_batches([arrow(found)]), path)
        return path
    with path.open("w", newline="") as file:
        table = zip(*found.values(), strict=True)
        if path.suffix.lower() == ".csv":
            csv.writer(file).writerows([found, *table])
        else:
            file.writelines(json.dumps(dict(zip(found, row, strict=True))) + "\n" for row in table)
    return path


def arrow(found: Columns, number: pa.DataType | None = None) -> pa.RecordBatch:
    """Columns of a log as Arrow has them, indexes as *number*, or in 64 bits."""
    kinds = {name: (number or pa.int64()) if name in NUMBERS else pa.string() for name in found}
    return pa.RecordBatch.from_pydict(dict(found), pa.schema(kinds.items()))
