"""Reads ack logs in an executor's Python: Parquet, JSON lines and CSV, as portions of rows.

Rows bypass the JVM, which would pass them to Python one by one. A line that cannot be read is returned
unchanged, to be rejected; a file that cannot be read stops the job with an error that names it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import CDLL
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from itertools import groupby, islice
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.fs
import pyarrow.json
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pipeline.bulk_ack.item_columns import ItemColumns, ItemIds, ItemNumbers, ItemPage
from pipeline.compiled_fold.numbers import batches, number_chunk
from pipeline.compiled_fold.pages import Page, column_chunk
from pipeline.engine_without_spark.listing import listed
from pipeline.shared_by_jobs import files

ROWS_A_BATCH = 1 << 16
"""What is computed of so many rows remains in the cache of a core."""
INDEXES_A_BATCH = 1 << 18
"""The same of indexes, which are a tenth of the bytes of item ids."""
LINES_A_BATCH = 1 << 10
"""Changes of pages, each of which may have a thousand items."""
BLOCK_BYTES = 8 << 20
"""Bytes of text that are parsed at once, and the longest line."""
HEADER_BYTES = 1 << 16
ITEM_NAMES = ("item_id", "itemId")
GROUP_NAMES = ("batch_id", "group_id")
OUTCOME_NAMES = ("outcome", "reason")
ITEMS = (*GROUP_NAMES, "index")
RANGES = (*GROUP_NAMES, "first", "last")
KINDS = {
    **dict.fromkeys((*ITEM_NAMES, *GROUP_NAMES, *OUTCOME_NAMES), pa.string()),
    **dict.fromkeys(("index", "first", "last"), pa.int64()),
}
"""The columns of an ack."""
BY_PAGES = (*ITEM_NAMES, *ITEMS[2:], *RANGES[2:])
"""The columns that the kernel can read from Parquet."""
PARTITIONS = (*GROUP_NAMES, "outcome")
"""Columns that the names of folders may give, such as ``batch_id=...``."""
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

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
    """Some rows of a log: columns of *items*, outcome and reason; and the *lines* that are not rows."""

    items: ItemColumns
    outcome: pa.Array
    reason: pa.Array
    lines: tuple[str, ...] = ()

    def take(self, rows: NDArray[np.int64]) -> Portion:
        """Return these *rows*, without the lines."""
        at = pa.array(rows)
        return Portion(self.items.take(rows), self.outcome.take(at), self.reason.take(at))


def joined(portions: Sequence[Portion]) -> Portion:
    """Return the rows of all *portions*, which have item ids, without the lines."""
    ids = [each.items.ids for each in portions if isinstance(each.items, ItemIds)]
    others = zip(*((each.outcome, each.reason) for each in portions), strict=True)
    texts = (pa.concat_arrays([each.cast(pa.string()) for each in column]) for column in others)
    return Portion(ItemIds(pa.concat_arrays(ids)), *texts)


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


def listed_in(paths: Sequence[str]) -> list[files.ListedFile]:
    """Return the logs in *paths*, without Spark. Raises UnreadableLog or NotListed."""
    for path in paths:
        refuse_hidden(path)
    found = listed(paths)
    for file in found:
        format_of(file.path)
    return found


def read(path: str, kernel: CDLL | None = None) -> Iterator[Portion]:
    """Yield the rows of the log at *path*, in Spark's notation. Raises UnreadableLog.

    *kernel*: reads item ids and indexes from Parquet page by page, where it can.
    """
    readers: dict[str, Callable[[Any, str], Iterator[Rows]]]
    readers = {"parquet": partial(_parquet, kernel=kernel), "json": _json, "csv": _csv}
    system, inner = files.as_spark_names(path)
    named = partitions(path)
    with named_in_errors(path):
        for rows in readers[format_of(path)](system, inner):
            yield portion(rows.columns, rows.lines, named, rows.items)


def lines_of(path: str) -> Iterator[list[bytes]]:
    """Yield the lines of the file at *path*, in Spark's notation, many at once. Raises UnreadableLog."""
    system, inner = files.as_spark_names(path)
    with named_in_errors(path), system.open_input_stream(inner) as source:
        lines = io.BufferedReader(source)
        while some := list(islice(lines, LINES_A_BATCH)):
            yield some


@contextmanager
def named_in_errors(path: str) -> Iterator[None]:
    """Raise UnreadableLog of the log at *path* in place of Arrow's errors, which can come late."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UnreadableLog(f"{path} cannot be read: {error}") from error


class Rows(NamedTuple):
    """Columns of rows, lines that are not rows, and the items of the rows unless columns name them."""

    columns: pa.RecordBatch
    lines: Sequence[str] = ()
    items: ItemColumns | None = None


def partitions(path: str) -> dict[str, str]:
    """Return the columns that the folders of *path* give."""
    parts = (part.partition("=") for part in PurePosixPath(path).parts[:-1])
    return {name: value for name, _, value in parts if name in PARTITIONS and value != _NO_VALUE}


def _parquet(system: Any, path: str, kernel: CDLL | None) -> Iterator[Rows]:
    with system.open_input_file(path) as source:
        file = pq.ParquetFile(source)
        names = used(file.schema_arrow.names)
        if groups := [name for name in GROUP_NAMES if name in names]:
            file = pq.ParquetFile(source, metadata=file.metadata, read_dictionary=groups)
        parts = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        for texts, numbers in groupby(range(len(parts)), lambda number: _only_texts(parts[number], groups)):
            read = [name for name in names if name not in texts]
            if kernel and not set(ITEM_NAMES) <= set(names):
                for number in numbers:
                    found = _row_group(kernel, source, file, number, read)
                    yield from (each._replace(columns=_with_texts(each.columns, texts)) for each in found)
                continue
            for batch in _by_arrow(file, list(numbers), read):
                yield Rows(_with_texts(batch, texts))


def _row_group(
    kernel: CDLL, source: pa.NativeFile, file: pq.ParquetFile, number: int, names: Sequence[str]
) -> Iterator[Rows]:
    """Yield the rows of a part of a file by pages; from the first that is not read so, by Arrow."""
    rows, read = file.metadata.row_group(number).num_rows, 0
    by_pages = [name for name in names if name in BY_PAGES]
    others = [name for name in names if name not in BY_PAGES]
    if rows > 0 and (pages := _pages(kernel, source, file, number, by_pages)):
        batches = iter([pa.record_batch([pa.nulls(rows)], ["reason"])])
        if others:
            batches = _by_arrow(file, [number], others)
        for batch, page in _paged(batches, pages):
            yield Rows(batch, items=ItemPage(page)) if isinstance(page, Page) else Rows(_beside(batch, page))
            read += len(page)
    if read != rows:
        for batch in _by_arrow(file, [number], names):
            if read < batch.num_rows:
                yield Rows(batch.slice(read))
            read = max(0, read - batch.num_rows)


def _pages(
    kernel: CDLL, source: pa.NativeFile, file: pq.ParquetFile, number: int, names: Sequence[str]
) -> Iterator[Page | pa.RecordBatch] | None:
    """Return the pages of a column of texts, or the rows of those of integers; None if Arrow has to read."""
    rows = file.metadata.row_group(number).num_rows
    if names[0] in ITEM_NAMES:
        chunk = column_chunk(kernel, source, file, number, names[0])
        return chunk.pages(rows) if chunk else None
    chunks = [number_chunk(kernel, source, file, number, name) for name in names]
    found = [chunk for chunk in chunks if chunk]
    return batches(found, names, rows) if len(found) == len(names) else None


def _by_arrow(file: pq.ParquetFile, groups: list[int], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the columns *names* of *groups*. Raises ArrowInvalid if rows are missing."""
    rows = INDEXES_A_BATCH if "index" in names else ROWS_A_BATCH
    missing = sum(file.metadata.row_group(number).num_rows for number in groups)
    for batch in file.iter_batches(rows, groups, names, use_threads=False):
        missing -= batch.num_rows
        yield batch
    if missing:
        raise pa.ArrowInvalid("a column has not as many rows as the file says")


def _paged(
    batches: Iterator[pa.RecordBatch], pages: Iterator[Page | pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, Page | pa.RecordBatch]]:
    """Yield each of *pages* with as many rows of *batches*."""
    held: pa.RecordBatch | None = None
    for page in pages:
        while held is None or held.num_rows < len(page):
            more = next(batches)
            held = more if held is None else pa.concat_batches([held, more])
        yield held.slice(0, len(page)), page
        held = held.slice(len(page))


def _only_texts(part: pq.RowGroupMetaData, names: Sequence[str]) -> dict[str, str]:
    """Return those columns of a part of a file that have one text in all rows, by its statistics."""
    columns = (part.column(at) for at in range(part.num_columns if names else 0))
    return {
        column.path_in_schema: column.statistics.min
        for column in columns
        if column.path_in_schema in names and _has_one_text(column.statistics)
    }


def _has_one_text(known: pq.Statistics | None) -> bool:
    """Return whether statistics say so; bounds that a writer has cut are not equal."""
    if known is None or not (known.has_min_max and known.has_null_count) or known.null_count:
        return False
    return isinstance(known.min, str) and known.min == known.max


def _beside(batch: pa.RecordBatch, more: pa.RecordBatch) -> pa.RecordBatch:
    """Return the columns of both."""
    names = [*batch.schema.names, *more.schema.names]
    return pa.RecordBatch.from_arrays([*batch.columns, *more.columns], names)


def _with_texts(batch: pa.RecordBatch, texts: Mapping[str, str]) -> pa.RecordBatch:
    """Return *batch* with a column for each of *texts*, which all rows have."""
    for name, text in texts.items():
        batch = batch.append_column(name, _repeated(text, batch.num_rows))
    return batch


@lru_cache(maxsize=8)
def _repeated(text: str, rows: int) -> pa.Array:
    codes, texts = np.zeros(rows, np.int32), pa.array([text], pa.string())
    return pa.DictionaryArray.from_arrays(codes, texts, safe=False)


def _csv(system: Any, path: str) -> Iterator[Rows]:
    lines: list[str] = []

    def reject(row: Any) -> str:
        lines.append(row.text)
        return "skip"

    with io.BufferedReader(system.open_input_stream(path), HEADER_BYTES) as source:
        header = source.peek(HEADER_BYTES).decode("utf-8-sig", "replace").splitlines()[:1]
        if not header:
            return
        names = used(next(csv.reader(header), []))
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
            yield Rows(batch, tuple(lines))
            lines.clear()
    if lines:
        yield Rows(_NO_ROWS, lines)


def _json(system: Any, path: str) -> Iterator[Rows]:
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


_JSON_ROWS = pa.schema(KINDS.items())
_NO_ROWS = pa.RecordBatch.from_arrays([pa.nulls(0, pa.string())], names=["item_id"])


def _json_block(block: bytes) -> Iterator[Rows]:
    """Yield the rows of a block; one that Arrow cannot parse is read line by line."""
    try:
        rows = pyarrow.json.read_json(
            io.BytesIO(block),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pyarrow.json.ParseOptions(explicit_schema=_JSON_ROWS, unexpected_field_behavior="ignore"),
        ).select(_JSON_ROWS.names)
    except pa.ArrowInvalid:
        rows, lines = _line_by_line(block)
        yield Rows(_NO_ROWS, lines)
    for batch in rows.to_batches(ROWS_A_BATCH):
        for named in _by_names(batch):
            yield Rows(named)


def _line_by_line(block: bytes) -> tuple[pa.Table, list[str]]:
    rows, lines = [], []
    for raw in block.split(b"\n"):
        text = raw.decode("utf-8", "replace")
        row = _json_row(raw)
        if row is not None:
            rows.append(row)
        elif text.strip():
            lines.append(text)
    return pa.Table.from_pylist(rows, _JSON_ROWS), lines


def _json_row(raw: bytes) -> dict[str, str | int | None] | None:
    """Return the fields of a line that is one JSON object of an ack; None if it is anything else."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    is_named = any(found.get(name) is not None for name in ITEM_NAMES)
    row = {name: found.get(name) for name in (ITEM_NAMES + OUTCOME_NAMES if is_named else KINDS)}
    if not all(_is_of(KINDS[name], value) for name, value in row.items()):
        return None
    # A reason that was cut may end in half of a surrogate pair, which Arrow refuses.
    return {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in row.items()
    }


def _is_of(kind: pa.DataType, value: object) -> bool:
    """Return whether a value of JSON fits a column of this *kind*."""
    if value is None or pa.types.is_string(kind):
        return value is None or isinstance(value, str)
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def _by_names(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield *rows*, which have all columns, in parts that name their items by the same ones."""
    by_id, by_index, by_range = (_has_any(rows, names) for names in (ITEM_NAMES, ITEMS, RANGES[2:]))
    if pc.any(pc.and_not(pc.and_(by_range, pc.is_valid(rows["index"])), by_id)).as_py():
        raise pa.ArrowInvalid(f"a row has {_AMBIGUOUS}")
    by_range = pc.and_not(by_range, by_id)
    by_index = pc.and_not(pc.and_not(by_index, by_id), by_range)
    others = pc.invert(pc.or_(by_range, by_index))
    for names, chosen in ((ITEM_NAMES, others), (ITEMS, by_index), (RANGES, by_range)):
        if pc.any(chosen).as_py():
            yield rows.filter(chosen).select([*names, *OUTCOME_NAMES])


def _has_any(rows: pa.RecordBatch, names: Sequence[str]) -> pa.Array:
    return reduce(pc.or_, (pc.is_valid(rows[name]) for name in names))


_AMBIGUOUS = "index beside first or last: expected an item, or a range of items"


def used(columns: Sequence[str]) -> list[str]:
    """Return those of the *columns* of a log that are of an ack. Raises ArrowInvalid if they are of none."""
    names = [name for name in (*_naming(columns), *OUTCOME_NAMES) if name in columns]
    for name in names:
        if columns.count(name) > 1:
            raise pa.ArrowInvalid(f"it has the column {name} twice")
    return names


def _naming(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that name the items; the first form that there is."""
    if any(name in columns for name in ITEM_NAMES):
        return ITEM_NAMES
    has_index, has_range = "index" in columns, "first" in columns or "last" in columns
    if has_index and has_range:
        raise pa.ArrowInvalid(f"it has {_AMBIGUOUS}")
    if not has_index and not has_range:
        raise pa.ArrowInvalid(f"it has no column {' or '.join(ITEM_NAMES)}, nor index, nor first and last")
    return ITEMS if has_index else RANGES


def portion(
    batch: pa.RecordBatch,
    lines: Sequence[str] = (),
    partition: Mapping[str, str] = MappingProxyType({}),
    items: ItemColumns | None = None,
) -> Portion:
    """Return the columns of *batch* by name; *partition* has the values of those that are missing or null.

    Items have to be named, unless these are *items*; of outcome and reason, missing ones are null.
    """
    if items is None:
        items = _items(batch, _naming(batch.schema.names), partition)
    outcome, reason = (_decoded(_texts(batch, name, partition)) for name in OUTCOME_NAMES)
    return Portion(items, outcome, reason, tuple(lines))


def _items(batch: pa.RecordBatch, naming: Sequence[str], partition: Mapping[str, str]) -> ItemColumns:
    if naming is ITEM_NAMES:
        given = (_texts(batch, name, {}) for name in ITEM_NAMES if name in batch.schema.names)
        return ItemIds(pc.coalesce(*(column.cast(pa.string()) for column in given)))
    for name in naming:
        if name not in batch.schema.names and name not in partition:
            raise pa.ArrowInvalid(f"it has no column {name}")
    groups = (_texts(batch, name, partition) for name in GROUP_NAMES)
    return ItemNumbers(*groups, *(_numbers(batch, name) for name in naming[2:]))


def _texts(batch: pa.RecordBatch, name: str, partition: Mapping[str, str]) -> pa.Array:
    """Return the texts of a column, in which *partition* fills nulls."""
    column = batch[name] if name in batch.schema.names else pa.nulls(batch.num_rows)
    if not _is_text(_kind(column)):
        raise pa.ArrowInvalid(f"its column {name} is {_kind(column)}; expected text")
    if not column.null_count or name not in partition:
        return column
    if column.null_count == len(column):
        return _repeated(partition[name], len(column))
    return pc.fill_null(column.cast(pa.string()), partition[name])


def _decoded(column: pa.Array) -> pa.Array:
    """Return texts as such; nulls remain a column without memory."""
    return column if pa.types.is_null(column.type) else column.cast(pa.string())


def _numbers(batch: pa.RecordBatch, name: str) -> pa.Array:
    column = batch[name]
    kind = _kind(column)
    if not (pa.types.is_integer(kind) or _is_text(kind)):
        raise pa.ArrowInvalid(f"its column {name} is {kind}; expected integers")
    return column.cast(pa.string() if _is_text(kind) else kind)


def _kind(column: pa.Array) -> pa.DataType:
    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type


_TEXTS = (pa.string(), pa.large_string(), pa.null())


def _is_text(kind: pa.DataType) -> bool:
    return kind in _TEXTS
