"""The rows that pass between the steps of bulk_ack, as Arrow schemas; columns are addressed by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanin.tracker import Verdict
from pipeline.shared_by_jobs import bitmaps

BLOCKS_A_BATCH = 256
_NO_BITS = np.zeros(bitmaps.BLOCK_BYTES, np.uint8)


def _schema(**kinds: pa.DataType) -> pa.Schema:
    """Return a schema without nulls."""
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds.items()])


PAGE_MASKS = _schema(batch_id=pa.string(), page=pa.int64(), bits=pa.binary(), failed=pa.binary())
"""Acks of one leaf page, as `pipeline.shared_by_jobs.bitmaps` lays them out; *failed* is a
subset of *bits*."""

BLOCK = pa.schema(
    [
        *_schema(batch_id=pa.string(), block=pa.int64()),
        pa.field("succeeded", pa.binary()),
        pa.field("failed", pa.binary()),
    ]
)
"""Folded acks of a block of 32 neighbouring leaf pages: items that succeeded, items that failed; each packed.
"""

REJECTED = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),
        pa.field("item_id", pa.string()),
        pa.field("outcome", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("refusal", pa.string(), nullable=False),
    ]
)
"""A row of an ack log that set no bit, unchanged, and why: see `pipeline.bulk_ack.item_ids.Refusal`.

*item_id* holds the whole line if the line is not a row.
"""

REASON = _schema(batch_id=pa.string(), item_id=pa.string(), reason=pa.string())
"""Why an item failed."""

PAGE_COUNTS = ("pages", "items", "failed", "failing")
COUNTS = pa.schema(
    [("refusal", pa.string()), ("rows", pa.int64()), *((name, pa.int64()) for name in PAGE_COUNTS)]
)
"""The *rows* with one *refusal*, or the folded ones without it; or the pages and items of blocks, *failed*
items, and pages *failing* any.
"""

FOLDED = pa.schema(
    [
        ("block", pa.struct(list(BLOCK))),
        ("rejected", pa.struct(list(REJECTED))),
        ("reason", pa.struct(list(REASON))),
        ("acks", pa.int64()),
        ("counts", pa.struct(list(COUNTS))),
    ]
)
"""The output of a task over its part of the logs; each row has one column set. *acks*: folded rows, which are
part of *counts* once the blocks of all tasks are united.
"""

_ANSWERED = ("pages", "written", "fresh", "failed", "healed", *map(str, Verdict), "requests", "write_units")
MARKED = _schema(batch_id=pa.string(), **dict.fromkeys(_ANSWERED, pa.int64()))
"""The tracker's answers to folded acks: *pages* read and *written*, items by verdict.

Of the accepted items, *fresh* were not acked before, *failed* of these as failures; *healed* had failed.
Items acked by a task that crashed are counted as duplicates when it is run again.
"""
SUMMED = [name for name in MARKED.names if name != "batch_id"]

OUTCOMES = MARKED.append(pa.field("state", pa.string()))
"""MARKED by batch, and the batch's *state* after these writes, null if the batch is gone."""


@dataclass(slots=True)
class Collected:
    """The output of tasks over the logs: acks, rejected rows by refusal, rows of REASON, and united *blocks*.

    A block is known by its batch and number, and has the bits of items that succeeded, and that failed.
    """

    acks: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    reasons: list[dict[str, str | int]] = field(default_factory=list)
    blocks: dict[tuple[str, int], list[bitmaps.Masks | None]] = field(default_factory=dict)

    def take(self, folded: pa.RecordBatch) -> None:
        """Add rows of FOLDED."""
        self.reasons += folded.column("reason").drop_null().to_pylist()
        self.count(folded)

    def count(self, folded: pa.RecordBatch) -> None:
        """Add rows of FOLDED without the reasons."""
        block, rejected, _, acks, counts = (column.drop_null() for column in folded.columns)
        self.acks += pc.sum(acks).as_py() or 0
        self.rejected.update(rejected.field("refusal").to_pylist())
        self.rejected.update({row["refusal"]: row["rows"] for row in counts.to_pylist()})
        self.unite(*block.flatten())

    def unite(self, *block: pa.Array) -> None:
        """Add the columns of BLOCK."""
        for batch_id, number, *masks in zip(*(column.to_pylist() for column in block), strict=True):
            held = self.blocks.setdefault((batch_id, number), [None, None])
            held[:] = map(_union, held, masks)

    def page_masks(self) -> Iterator[pa.RecordBatch]:
        """Yield PAGE_MASKS of the blocks, ordered by batch and page."""
        return to_page_masks(self.whole_blocks())

    def whole_blocks(self) -> Iterator[pa.RecordBatch]:
        """Yield the blocks as rows of BLOCK without nulls and not packed, ordered by batch and number."""
        keys = sorted(self.blocks)
        for at in range(0, len(keys), BLOCKS_A_BATCH):
            some = keys[at : at + BLOCKS_A_BATCH]
            held = [self.blocks[key] for key in some]
            masks = (bitmaps.to_column(np.stack([_bits(each[kind]) for each in held])) for kind in (0, 1))
            named = pa.array([batch_id for batch_id, _ in some]), pa.array([block for _, block in some])
            yield pa.RecordBatch.from_arrays([*named, *masks], schema=BLOCK)


def _union(held: bitmaps.Masks | None, more: bytes | None) -> bitmaps.Masks | None:
    """Return the bits of both; of a bitmap alone, in its own memory."""
    if more is None:
        return held
    found = bitmaps.unpacked(more)
    return found if held is None else np.bitwise_or(held, found, out=held if held.flags.writeable else None)


def _bits(held: bitmaps.Masks | None) -> bitmaps.Masks:
    return _NO_BITS if held is None else held


def united(found: Iterable[pa.RecordBatch], has_blocks: bool) -> Iterator[pa.RecordBatch]:
    """Yield FOLDED of FOLDED with all rows of its blocks: each block once, if *has_blocks*, and the counts.

    Pages with failures are in a row of their own, and the only ones with a bitmap of failures.
    """
    whole, pages = Collected(), Counter[str](dict.fromkeys(PAGE_COUNTS, 0))
    for batch in found:
        whole.count(batch)
        yield from _passed(batch)
    for block in whole.whole_blocks():
        pages.update(page_counts(to_page_masks([block])))
        if has_blocks:
            yield from _kept(block)
    yield _counts({name: [pages[name]] for name in PAGE_COUNTS})
    yield _numbers({**whole.rejected, None: whole.acks})


def _passed(folded: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rejected rows and the reasons of FOLDED."""
    for name in ("rejected", "reason"):
        column = folded.column(name).drop_null()
        if len(column):
            yield filled(FOLDED, {name: column})


def _kept(block: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield whole blocks as rows of FOLDED, packed: the pages without failures, then those with some."""
    succeeded, failed = (
        bitmaps.from_column(block.column(name)).reshape(len(block), bitmaps.BLOCK_PAGES, -1)
        for name in ("succeeded", "failed")
    )
    failed = failed & ~succeeded
    failing = failed.any(axis=2, keepdims=True)
    yield _block(block, succeeded * ~failing)
    if failing.any():
        yield _block(block, succeeded * failing, failed)


def _block(
    named: pa.RecordBatch, succeeded: bitmaps.Masks, failed: bitmaps.Masks | None = None
) -> pa.RecordBatch:
    """Return those blocks that have any bit as rows of FOLDED."""
    acked = succeeded if failed is None else succeeded | failed
    rows = np.flatnonzero(acked.any(axis=(1, 2)))
    masks = {"succeeded": succeeded} | ({} if failed is None else {"failed": failed})
    columns = {
        name: bitmaps.packed(each[rows].reshape(-1, bitmaps.BLOCK_BYTES)) for name, each in masks.items()
    }
    names = {name: named.column(name).take(pa.array(rows)) for name in ("batch_id", "block")}
    return nested("block", {**names, **columns})


def unpacked(found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows of BLOCK without nulls and not packed, in their order."""
    for batch in found:
        for at in range(0, len(batch), BLOCKS_A_BATCH):
            batch_id, block, *masks = batch.slice(at, BLOCKS_A_BATCH).columns
            whole = (np.stack([_whole(value) for value in column.to_pylist()]) for column in masks)
            columns = [batch_id, block, *map(bitmaps.to_column, whole)]
            yield pa.RecordBatch.from_arrays(columns, schema=BLOCK)


def _whole(value: bytes | None) -> bitmaps.Masks:
    return _NO_BITS if value is None else bitmaps.unpacked(value)


def to_page_masks(found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield PAGE_MASKS of rows of BLOCK, one row per block, without nulls; a success beats a failure."""
    for batch in found:
        succeeded, failed = (
            bitmaps.from_column(batch.column(name)).reshape(-1, bitmaps.MASK_BYTES).view(np.uint64)
            for name in ("succeeded", "failed")
        )
        acked = succeeded | failed
        rows = np.flatnonzero(np.bitwise_or.reduce(acked, axis=1))
        block, page = np.divmod(rows, bitmaps.BLOCK_PAGES)
        numbers = batch.column("block").to_numpy()[block] * bitmaps.BLOCK_PAGES + page
        only_failed = failed & ~succeeded if failed.any() else failed
        masks = acked[rows].view(np.uint8), only_failed[rows].view(np.uint8)
        columns = [
            batch.column("batch_id").take(pa.array(block)),
            pa.array(numbers),
            *map(bitmaps.to_column, masks),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=PAGE_MASKS)


def filled(schema: pa.Schema, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Return rows of *schema* with these *columns*, which are of one length; the others are null."""
    rows = len(next(iter(columns.values())))
    every = [columns[one.name] if one.name in columns else pa.nulls(rows, one.type) for one in schema]
    return pa.RecordBatch.from_arrays(every, schema=schema)


def nested(name: str, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Return rows of FOLDED that have only *name*, of which these *columns* are set."""
    kind = list(FOLDED.field(name).type)
    return filled(
        FOLDED, {name: pa.StructArray.from_arrays(filled(pa.schema(kind), columns).columns, fields=kind)}
    )


def without_rejected(folded: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield FOLDED of a task with the number of the rejected rows in their place, and without reasons."""
    rejected: Counter[str] = Counter()
    for batch in folded:
        refusals = batch.column("rejected").drop_null().field("refusal")
        rejected.update(refusals.to_pylist())
        if not len(refusals) and batch.column("reason").null_count == len(batch):
            yield batch
    if rejected:
        yield _numbers(rejected)


def _numbers(rows: Mapping[Any, int]) -> pa.RecordBatch:
    """Return FOLDED with the number of *rows* of each refusal; None: of the folded ones."""
    return _counts({"refusal": list(rows), "rows": list(rows.values())})


def _counts(columns: Mapping[str, Sequence[str | int | None]]) -> pa.RecordBatch:
    return nested(
        "counts", {name: pa.array(values, COUNTS.field(name).type) for name, values in columns.items()}
    )


def page_counts(page_masks: Iterable[pa.RecordBatch]) -> Counter[str]:
    """Return the numbers of PAGE_COUNTS of PAGE_MASKS."""
    found: Counter[str] = Counter(dict.fromkeys(PAGE_COUNTS, 0))
    for batch in page_masks:
        bits, failed = (
            bitmaps.popcount(bitmaps.from_column(batch.column(name))) for name in ("bits", "failed")
        )
        found["pages"] += bits.size
        found["items"] += int(bits.sum())
        found["failed"] += int(failed.sum())
        found["failing"] += int(np.count_nonzero(failed))
    return found
