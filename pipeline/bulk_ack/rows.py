"""The rows that pass between the steps of bulk_ack, as Arrow schemas; columns are addressed by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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

FOLDED = pa.schema(
    [
        ("block", pa.struct(list(BLOCK))),
        ("rejected", pa.struct(list(REJECTED))),
        ("reason", pa.struct(list(REASON))),
        ("acks", pa.int64()),
    ]
)
"""The output of a task over its part of the logs; each row has one column set. *acks*: folded rows."""

COUNTED = pa.schema(
    [
        ("batch_id", pa.string()),
        ("block", pa.int64()),
        ("succeeded", pa.binary()),
        ("failed", pa.binary()),
        ("refusal", pa.string()),
        ("rows", pa.int64()),
    ]
)
"""FOLDED as a dry run needs it: a block, or the number of folded *rows*, or of those with one *refusal*."""

PAGE_COUNTS = ("pages", "items", "failed", "failing")
COUNTS = pa.schema(
    [("refusal", pa.string()), ("rows", pa.int64()), *((name, pa.int64()) for name in PAGE_COUNTS)]
)
"""The sums of COUNTED: the *rows* with one *refusal*; or the folded ones, and the pages and items of their
blocks, *failed* items, and pages *failing* any.
"""

_COUNTS = ("pages", "written", "fresh", "failed", "healed", *map(str, Verdict), "requests", "write_units")
MARKED = _schema(batch_id=pa.string(), **dict.fromkeys(_COUNTS, pa.int64()))
"""The tracker's answers to folded acks: *pages* read and *written*, items by verdict.

Of the accepted items, *fresh* were not acked before, *failed* of these as failures; *healed* had failed.
Items acked by a task that crashed are counted as duplicates when it is run again.
"""

OUTCOMES = MARKED.append(pa.field("state", pa.string()))
"""MARKED by batch, and the batch's *state* now, null if the batch is gone."""


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
        """Add rows of FOLDED, which all have the same column set."""
        block, rejected, reason, acks = (column.drop_null() for column in folded.columns)
        self.acks += pc.sum(acks).as_py() or 0
        self.rejected.update(rejected.field("refusal").to_pylist())
        self.reasons += reason.to_pylist()
        self.unite(*block.flatten())

    def unite(self, *block: pa.Array) -> None:
        """Add the columns of BLOCK."""
        for batch_id, number, *masks in zip(*(column.to_pylist() for column in block), strict=True):
            held = self.blocks.setdefault((batch_id, number), [None, None])
            held[:] = map(_union, held, masks)

    def page_masks(self) -> Iterator[pa.RecordBatch]:
        """Yield PAGE_MASKS of the blocks, ordered by batch and page."""
        return to_page_masks(_batches(self.blocks))


def _union(held: bitmaps.Masks | None, more: bytes | None) -> bitmaps.Masks | None:
    """Return the bits of both; of a bitmap alone, in its own memory."""
    if more is None:
        return held
    found = bitmaps.unpacked(more)
    return found if held is None else np.bitwise_or(held, found, out=held if held.flags.writeable else None)


def _bits(held: bitmaps.Masks | None) -> bitmaps.Masks:
    return _NO_BITS if held is None else held


def _batches(blocks: Mapping[tuple[str, int], Sequence[bitmaps.Masks | None]]) -> Iterator[pa.RecordBatch]:
    """Yield *blocks* as rows of BLOCK without nulls, ordered by their keys."""
    keys = sorted(blocks)
    for at in range(0, len(keys), BLOCKS_A_BATCH):
        some = keys[at : at + BLOCKS_A_BATCH]
        masks = (bitmaps.to_column(np.stack([_bits(blocks[key][kind]) for key in some])) for kind in (0, 1))
        named = pa.array([batch_id for batch_id, _ in some]), pa.array([block for _, block in some])
        yield pa.RecordBatch.from_arrays([*named, *masks], schema=BLOCK)


def united(found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield PAGE_MASKS of BLOCK with all rows of each block."""
    blocks = Collected()
    for batch in found:
        blocks.unite(*batch.columns)
    yield from blocks.page_masks()


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


def countable(folded: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield COUNTED of the FOLDED of a task."""
    found = Collected()
    for batch in folded:
        block = batch.column("block").drop_null()
        if len(block):
            yield filled(COUNTED, dict(zip(BLOCK.names, block.flatten(), strict=True)))
        else:
            found.take(batch)
    numbers: dict[str | None, int] = {None: found.acks}
    numbers.update(found.rejected.items())
    yield filled(COUNTED, _refusals(numbers))


def counted(found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield COUNTS of COUNTED with all rows of their blocks."""
    blocks, numbers = Collected(), Counter[str | None]()
    for batch in found:
        of_rows = batch.column("rows").is_valid()
        named = batch.filter(of_rows)
        for refusal, rows in zip(
            *(named.column(name).to_pylist() for name in ("refusal", "rows")), strict=True
        ):
            numbers[refusal] += rows
        blocks.unite(*batch.filter(pc.invert(of_rows)).columns[: len(BLOCK)])
    pages = page_counts(blocks.page_masks())
    yield filled(COUNTS, {name: pa.array([pages[name]]) for name in PAGE_COUNTS})
    yield filled(COUNTS, _refusals(numbers))


def _refusals(numbers: Mapping[str | None, int]) -> dict[str, pa.Array]:
    return {"refusal": pa.array(numbers, pa.string()), "rows": pa.array(numbers.values(), pa.int64())}


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
