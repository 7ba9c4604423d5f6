"""Tasks that number rows and write messages by Arrow, in whatever process: from Parquet to Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.engine_without_spark import pieces
from pipeline.engine_without_spark.listing import ON_THIS_MACHINE, listed
from pipeline.engine_without_spark.output import writing
from pipeline.engine_without_spark.pieces import Footer, Piece, RowGroup, Share
from pipeline.fan_out import json_texts
from pipeline.fan_out.parts import (
    COLUMNS,
    NUMBERS,
    SPARKS_SCHEMA,
    Label,
    Part,
    check_total,
    counted,
    label_of,
    sparks_schema,
    starts,
)
from pipeline.shared_by_jobs.bitmaps import Longs
from pipeline.shared_by_jobs.files import suffix, whole
from pipeline.shared_by_jobs.output import is_committed

NUMBERED = pa.schema(
    [
        pa.field("part", pa.int32(), nullable=False),
        pa.field("ord", pa.int64(), nullable=False),
        pa.field("record", pa.string(), nullable=False),
    ]
)
MESSAGES = pa.schema(
    [("position", pa.int64()), ("copy", pa.int32()), ("item_id", pa.string()), ("record", pa.string())]
)
_OF_NUMBERS: dict[str, Any] = {
    "use_dictionary": ["part"],
    "column_encoding": {"ord": "DELTA_BINARY_PACKED"},
    "write_statistics": [*NUMBERS],
}
_OF_MESSAGES: dict[str, Any] = {
    "use_dictionary": ["copy"],
    "column_encoding": {"position": "DELTA_BINARY_PACKED"},
    "write_statistics": ["position"],
}


HEAD = "fanin.head"
"""The key of a file of messages with the beginning of its item ids."""


class NotByArrow(ValueError):
    """The dataset or the manifest is not one that Arrow reads as Spark does; the message says why."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file that a task wrote, hidden: *name* for `publish`, and the part with its counts."""

    name: str
    part: Part


@dataclass(frozen=True, slots=True)
class NumberTask:
    """Numbers the rows of *share* as the part *number* of the manifest in *folder*."""

    number: int
    share: Share
    folder: str
    label: Label


@dataclass(frozen=True, slots=True)
class MessageTask:
    """Writes the rows of *share* to *folder* as messages of the items of *head*, the ids up to the index.

    *starts*: the number of rows before each part of the manifest that *share* is of; or the position of the
    first row, if it is of a dataset.
    """

    number: int
    share: Share
    folder: str
    head: str
    starts: Sequence[tuple[int, int]] | int


@dataclass(frozen=True, slots=True)
class StoredManifest:
    """A committed manifest by its footers: its label, its parts in order, and its pieces."""

    label: Label
    parts: list[Part]
    pieces: Share


def source_of(path: str, limit: int | None) -> Share:
    """Return the rows of the Parquet files at *path*, at most *limit*. Raises NotByArrow or NotListed."""
    if suffix(path, ()) != ".parquet":
        raise NotByArrow(f"{path} is not Parquet")
    files = listed([path])
    head = whole(path).removeprefix(ON_THIS_MACHINE)
    if any("=" in file.path.removeprefix(ON_THIS_MACHINE).removeprefix(head) for file in files):
        raise NotByArrow("names of its folders are columns")
    found = pieces.footers([file.path for file in files])
    if len({footer.schema.remove_metadata() for footer in found}) != 1:
        raise NotByArrow("its files differ in their columns")
    json_texts.check(found[0].schema)
    return pieces.first_rows([piece for footer in found for piece in footer.pieces], limit)


def write_part(task: NumberTask) -> Written:
    """Write the rows of *task* as one part of a manifest."""
    part = Part(task.number, 0)
    schema = NUMBERED.with_metadata({SPARKS_SCHEMA: sparks_schema(task.label)})
    with writing(task.folder, _name(task.number), schema, **_OF_NUMBERS) as (name, file):
        for batch in pieces.read(task.share):
            records, first = json_texts.rows_of(batch), part.rows
            part = _longer(part, records)
            number = pa.array(np.full(len(records), task.number, np.int32))
            columns = [number, pa.array(np.arange(first, part.rows)), records]
            file.write_batch(pa.RecordBatch.from_arrays(columns, schema=NUMBERED))
    return Written(name, part)


def measure_part(task: NumberTask) -> Part:
    """Return the part that `write_part` would write."""
    records = map(json_texts.rows_of, pieces.read(task.share))
    return reduce(_longer, records, Part(task.number, 0))


def measure_stored(task: NumberTask) -> Part:
    """Return how many rows of a manifest *task* reads, and their bytes."""
    records = (batch.column(0) for batch in pieces.read(task.share, ["record"]))
    return reduce(_longer, records, Part(task.number, 0))


def _longer(part: Part, records: pa.Array) -> Part:
    """Return *part* with *records* after its rows."""
    lengths = pc.binary_length(records).to_numpy()
    size, widest = part.size + int(lengths.sum()), max(part.widest, int(lengths.max()))
    return Part(part.number, part.rows + len(records), size, widest)


def write_messages(task: MessageTask) -> Written:
    """Write the rows of *task* as messages."""
    part = Part(task.number, 0)
    schema = MESSAGES.with_metadata({HEAD: task.head})
    with writing(task.folder, _name(task.number), schema, **_OF_MESSAGES) as (name, file):
        for position, records in _rows_of(task):
            ids = pc.binary_join_element_wise(task.head, pc.cast(position, pa.string()), "")
            columns = [position, pa.array(np.ones(len(ids), np.int32)), ids, records]
            file.write_batch(pa.RecordBatch.from_arrays(columns, schema=MESSAGES))
            part = _longer(part, records)
    return Written(name, part)


def _rows_of(task: MessageTask) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Return the positions and the records of *task*."""
    if isinstance(task.starts, int):
        return _numbered(task.share, task.starts)
    return positioned(task.share, task.starts)


def _numbered(share: Share, first: int) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Yield the positions from *first* on, and the records, of *share*, of a dataset."""
    for batch in pieces.read(share):
        yield pa.array(np.arange(first, first + batch.num_rows)), json_texts.rows_of(batch)
        first += batch.num_rows


def positioned(share: Share, starts: Sequence[tuple[int, int]]) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Yield the positions and the records of *share*, of a manifest whose parts begin at *starts*.

    Of messages, which are in one part, the positions are stored.
    """
    if not starts:
        for batch in pieces.read(share, ["position", "record"]):
            yield tuple(batch.columns)
        return
    numbers, before = np.array(starts, np.int64).T
    for batch in pieces.read(share, COLUMNS):
        part, ord_, records = batch.columns
        start = before[np.searchsorted(numbers, part.to_numpy())]
        yield pa.array(ord_.to_numpy() + start), records


def saved_under(path: str, head: str) -> int | None:
    """Return how many messages of the items of *head* are committed at *path*; None if none are."""
    if not is_committed(path):
        return None
    found = pieces.footers([file.path for file in listed([path])])
    if any(footer.metadata.get(HEAD.encode()) != head.encode() for footer in found):
        return None
    return sum(piece.rows for footer in found for piece in footer.pieces)


def load(path: str) -> StoredManifest:
    """Return the manifest committed at *path*. Raises NoManifest, Damaged or NotByArrow."""
    found = pieces.footers([file.path for file in listed([path])], NUMBERS)
    stored = found[0].metadata.get(SPARKS_SCHEMA.encode(), b'{"fields": []}')
    label = label_of(stored.decode(), path)
    if label.messages:
        return StoredManifest(label, [Part(0, label.total)], [])
    groups = in_order(found, NUMBERS)
    parts = counted([group for _, group in groups])
    if parts is None:
        raise NotByArrow(f"{path}: another program wrote its files again")
    return StoredManifest(label, parts, [piece for piece, _ in groups])


def with_rows(manifest: StoredManifest) -> StoredManifest:
    """Return *manifest* with the pieces of the messages, if it refers to some. Raises Damaged."""
    path = manifest.label.messages
    if path is None:
        return manifest
    files = [file.path for file in listed([path])] if is_committed(path) else []
    groups = in_order(pieces.footers(files, ["position"]), ["position"])
    check_total(manifest.label, sum(piece.rows for piece, _ in groups))
    return replace(manifest, pieces=[piece for piece, _ in groups])


def in_order(found: Sequence[Footer], names: Sequence[str]) -> list[tuple[Piece, RowGroup]]:
    """Return the pieces with any rows, and their statistics, by the least values of the columns *names*."""
    groups = [
        (piece, group)
        for footer in found
        for piece, group in zip(footer.pieces, footer.statistics, strict=True)
        if piece.rows
    ]
    return sorted(groups, key=lambda each: [each[1].values.get(name, (0,))[0] for name in names])


def rows_at(manifest: StoredManifest, wanted: Longs) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Yield the positions and the records of the rows at the positions *wanted*, which ascend.

    Row groups without any are not read.
    """
    before = starts_of(manifest)
    bounds = np.cumsum([0, *(piece.rows for piece in manifest.pieces)])
    first, last = np.searchsorted(wanted, bounds[:-1]), np.searchsorted(wanted, bounds[1:])
    for number in np.flatnonzero(last > first).tolist():
        for position, records in positioned([manifest.pieces[number]], before):
            found = np.flatnonzero(np.isin(position.to_numpy(), wanted[first[number] : last[number]]))
            yield position.take(found), records.take(found)


def starts_of(manifest: StoredManifest) -> list[tuple[int, int]]:
    """Return the number of rows before each part; nothing for messages, whose positions are stored."""
    return [] if manifest.label.messages else starts(manifest.parts)


def _name(number: int) -> str:
    """Return a name for the file of a task that no other attempt has."""
    return f"{number:05}-{uuid4().hex[:12]}"
