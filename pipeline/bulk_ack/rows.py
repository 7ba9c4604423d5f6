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
_NO_BITS = bytes(bitmaps.BLOCK_BYTES)


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
"""Folded acks of a block of 32 neighbouring leaf pages: items that succeeded, items that failed."""

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

    A block is known by its batch and number, and has the bytes of items that succeeded, and that failed.
    """

    acks: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    reasons: list[dict[str, str | int]] = field(default_factory=list)
    blocks: dict[tuple[str, int], list[bytes]] = field(default_factory=dict)

    def take(self, folded: pa.RecordBatch) -> None:
        """Add rows of FOLDED, which all have the same column set."""
        block, rejected, reason, acks = (column.drop_null() for column in folded.columns)
        self.acks += pc.sum(acks).as_py() or 0
        self.rejected.update(rejected.field("refusal").to_pylist())
        self.reasons += reason.to_pylist()
        columns = (block.field(name).to_pylist() for name in BLOCK.names)
        for batch_id, number, *masks in zip(*columns, strict=True):
            held = self.blocks.setdefault((batch_id, number), [b"", b""])
            held[:] = map(_union, held, masks)

    def page_masks(self) -> Iterator[pa.RecordBatch]:
        """Yield PAGE_MASKS of the blocks, ordered by batch and page."""
        return to_page_masks(_batches(self.blocks))


def _union(held: bytes, more: bytes | None) -> bytes:
    """Return the bits of both; no bytes are no bits."""
    if not held or not more:
        return held or more or b""
    return bytes(np.frombuffer(held, np.uint8) | np.frombuffer(more, np.uint8))


def _batches(blocks: Mapping[tuple[str, int], Sequence[bytes]]) -> Iterator[pa.RecordBatch]:
    """Yield *blocks* as rows of BLOCK without nulls, ordered by their keys."""
    keys = sorted(blocks)
    for at in range(0, len(keys), BLOCKS_A_BATCH):
        some = keys[at : at + BLOCKS_A_BATCH]
        masks = (pa.array([blocks[key][kind] or _NO_BITS for key in some], pa.binary()) for kind in (0, 1))
        named = pa.array([batch_id for batch_id, _ in some]), pa.array([block for _, block in some])
        yield pa.RecordBatch.from_arrays([*named, *masks], schema=BLOCK)


def to_page_masks(found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield PAGE_MASKS of rows of BLOCK, one row per block, without nulls; a success beats a failure."""
    for batch in found:
        succeeded, failed = (
            bitmaps.from_column(batch.column(name)).reshape(-1, bitmaps.MASK_BYTES).view(np.uint64)
            for name in ("succeeded", "failed")
        )
        acked = succeeded | failed
        rows = np.flatnonzero(acked.any(axis=1))
        block, page = np.divmod(rows, bitmaps.BLOCK_PAGES)
        numbers = batch.column("block").to_numpy()[block] * bitmaps.BLOCK_PAGES + page
        masks = acked[rows].view(np.uint8), (failed[rows] & ~succeeded[rows]).view(np.uint8)
        columns = [
            batch.column("batch_id").take(pa.array(block)),
            pa.array(numbers),
            *map(bitmaps.to_column, masks),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=PAGE_MASKS)
