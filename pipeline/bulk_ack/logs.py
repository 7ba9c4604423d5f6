"""Reads ack logs in an executor's Python: Parquet, JSON lines and CSV, as portions of rows.

Rows bypass the JVM, which would pass them to Python one by one. A line that cannot be read is returned
unchanged, to be rejected; a file that cannot be read stops the job with an error that names it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.fs
import pyarrow.json
import pyarrow.parquet as pq

from pipeline.spark import files

ROWS_A_BATCH = 1 << 15
"""What is computed of so many rows remains in the cache of a core."""
BLOCK_BYTES = 8 << 20
"""Bytes of text that are parsed at once, and the longest line."""
HEADER_BYTES = 1 << 16
ITEM_NAMES = ("item_id", "itemId")
NAMES = (*ITEM_NAMES, "outcome", "reason")

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
COMPRESSIONS = (".bz2", ".gz", ".lz4", ".zst")


class UnreadableLog(ValueError):
    """A file is not an ack log, or is damaged; the message names it and the problem."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Some rows of a log: columns item_id, outcome and reason; and the *lines* that are not rows."""

    item_id: pa.Array
    outcome: pa.Array
    reason: pa.Array
    lines: tuple[str, ...] = ()


def format_of(path: str) -> str:
    """Return parquet, json or csv, by the suffix of *path* before that of a compression.

    Raises UnreadableLog.
    """
    suffix = files.suffix(path, COMPRESSIONS).lower()
    if suffix not in FORMATS:
        raise UnreadableLog(f"{path}: a log's name ends in one of {files.known(FORMATS, COMPRESSIONS)}")
    return FORMATS[suffix]


def refuse_hidden(path: str) -> None:
    """Raise UnreadableLog if *path* names a log that Spark would skip without a message."""
    if (
        PurePosixPath(path).name.startswith(("_", "."))
        and files.suffix(path, COMPRESSIONS).lower() in FORMATS
    ):
        raise UnreadableLog(f"{path}: Spark skips names that begin with _ or .: rename the file")


def read(path: str) -> Iterator[Portion]:
    """Yield the rows of the log at *path*, in Spark's notation. Raises UnreadableLog."""
    readers = {"parquet": _parquet, "json": _json, "csv": _csv}
    system, inner = files.as_spark_names(path)
    try:
        yield from readers[format_of(path)](system, inner)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UnreadableLog(f"{path} cannot be read: {error}") from error


def _parquet(system: Any, path: str) -> Iterator[Portion]:
    with system.open_input_file(path) as source:
        file = pq.ParquetFile(source)
        _refuse_duplicates(file.schema_arrow.names)
        names = [name for name in NAMES if name in file.schema_arrow.names]
        for batch in file.iter_batches(ROWS_A_BATCH, columns=names, use_threads=False):
            yield portion(batch)


def _csv(system: Any, path: str) -> Iterator[Portion]:
    lines: list[str] = []

    def reject(row: Any) -> str:
        lines.append(row.text)
        return "skip"

    with io.BufferedReader(system.open_input_stream(path), HEADER_BYTES) as source:
        header = source.peek(HEADER_BYTES).decode("utf-8-sig", "replace").splitlines()[:1]
        if not header:
            return
        columns = next(csv.reader(header), [])
        _refuse_duplicates(columns)
        names = [name for name in NAMES if name in columns]
        batches = pyarrow.csv.open_csv(
            source,
            pyarrow.csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
            pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=reject),
            pyarrow.csv.ConvertOptions(
                include_columns=names,
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
        for batch in batches:
            yield portion(batch, tuple(lines))
            lines.clear()
    if lines:
        yield _lines(lines)


def _json(system: Any, path: str) -> Iterator[Portion]:
    with system.open_input_stream(path) as source:
        for block in _blocks(source):
            yield from _json_block(block)


def _blocks(source: Any) -> Iterator[bytes]:
    """Yield the text of *source* in blocks of whole lines."""
    unended = b""
    while text := source.read(BLOCK_BYTES):
        cut = text.rfind(b"\n") + 1
        if cut:
            yield unended + text[:cut]
            unended = text[cut:]
        else:
            unended += text
        if len(unended) > BLOCK_BYTES:
            raise pa.ArrowInvalid(f"a line is longer than {BLOCK_BYTES:,} bytes")
    if unended.strip():
        yield unended


_JSON_ROWS = pa.schema([(name, pa.string()) for name in NAMES])


def _json_block(block: bytes) -> Iterator[Portion]:
    """Yield the rows of a block; one that Arrow cannot parse is read line by line."""
    try:
        rows = pyarrow.json.read_json(
            io.BytesIO(block),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pyarrow.json.ParseOptions(explicit_schema=_JSON_ROWS, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowInvalid:
        yield _line_by_line(block)
        return
    for batch in rows.to_batches(ROWS_A_BATCH):
        yield portion(batch)


def _line_by_line(block: bytes) -> Portion:
    rows, lines = [], []
    for raw in block.split(b"\n"):
        text = raw.decode("utf-8", "replace")
        row = _json_row(raw)
        if row is not None:
            rows.append(row)
        elif text.strip():
            lines.append(text)
    return portion(pa.RecordBatch.from_pylist(rows, _JSON_ROWS), tuple(lines))


def _json_row(raw: bytes) -> dict[str, str | None] | None:
    """Return the fields of a line that is one JSON object of texts; None if it is anything else."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    row = {name: found.get(name) for name in NAMES}
    if not all(value is None or isinstance(value, str) for value in row.values()):
        return None
    # A reason that was cut may end in half of a surrogate pair, which Arrow refuses.
    return {name: value and value.encode("utf-8", "replace").decode() for name, value in row.items()}


def portion(batch: pa.RecordBatch, lines: tuple[str, ...] = ()) -> Portion:
    """Return the columns of *batch* by name; missing ones are null. An item id is required."""
    named = [name for name in ITEM_NAMES if name in batch.schema.names]
    if not named:
        raise pa.ArrowInvalid(f"it has no column {' or '.join(ITEM_NAMES)}")
    ids = [_text(batch, name) for name in named]
    return Portion(pc.coalesce(*ids), _text(batch, "outcome"), _text(batch, "reason"), lines)


def _text(batch: pa.RecordBatch, name: str) -> pa.Array:
    if name not in batch.schema.names:
        return pa.nulls(batch.num_rows, pa.string())
    column = batch.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not any(is_text(kind) for is_text in (pa.types.is_string, pa.types.is_large_string, pa.types.is_null)):
        raise pa.ArrowInvalid(f"its column {name} is {kind}; expected text")
    return column.cast(pa.string())


def _refuse_duplicates(columns: Sequence[str]) -> None:
    """Raise ArrowInvalid if a column of an ack occurs twice: the intended one is unknown."""
    for name in NAMES:
        if columns.count(name) > 1:
            raise pa.ArrowInvalid(f"it has the column {name} twice")


def _lines(lines: list[str]) -> Portion:
    empty = pa.nulls(0, pa.string())
    return Portion(empty, empty, empty, tuple(lines))
