"""What one task makes of ack logs: a bitmap a block of pages for what is real, and the rest put aside.

A task reads the row of each batch that it meets once, consistently: the batch's salt tells real ids from
forged ones, and is a secret, so it goes through no file and no shuffle of Spark's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema

from fanin.tracker import Batch, BatchKey, Mode, Outcome
from pipeline import bits, ids, schemas
from pipeline.acklogs import Portion
from pipeline.ids import Located, Refusal

BLOCKS_A_BATCH = 256
REASONS = 128
"""Failures of a batch whose reasons one task hands on; the tracker keeps no more."""
REASON_MAX = 512
"""Characters of a reason; a longer one is not kept, nor one with control characters."""

FOLDED = to_arrow_schema(schemas.FOLDED)
Flags: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.int64]


class Registry(Protocol):
    """Where a task finds batches: the tracker's store."""

    def get(self, key: BatchKey) -> Batch | None: ...


@dataclass(slots=True)
class _BatchFold:
    good: bits.Fold
    bad: bits.Fold
    reasons: int = 0

    @classmethod
    def of(cls, page_bits: int) -> _BatchFold:
        return cls(bits.Fold(page_bits), bits.Fold(page_bits))


@dataclass(slots=True)
class Folder:
    """One task's fold of the logs of one tenant: portions in, rows of FOLDED out, the blocks at the end."""

    registry: Registry
    tenant: str
    _acks: int = 0
    _known: dict[str, Batch | None] = field(default_factory=dict)
    _folds: dict[str, _BatchFold] = field(default_factory=dict)

    def take(self, portion: Portion, file: str) -> Iterator[pa.RecordBatch]:
        """Fold what is real of *portion*, a part of *file*; what is put aside, and some failures' reasons."""
        good, bad = _outcomes(portion.outcome)
        located = self._located(portion.item_id, good | bad)
        for number, rows in _by_batch(located):
            batch_id, places, failed = located.batches[number], located.position[rows], bad[rows]
            fold = self._fold(batch_id)
            fold.good.add(places[~failed])
            if failed.any():
                fold.bad.add(places[failed])
                yield from _reasons(fold, batch_id, portion, rows[failed])
            self._acks += rows.size
        yield from _aside(portion, located.refusal, file)

    def blocks(self) -> Iterator[pa.RecordBatch]:
        """Every block that holds an ack, and how many acks were folded in all."""
        for batch_id, fold in self._folds.items():
            for name, kind in (("good", fold.good), ("bad", fold.bad)):
                numbers, rows = kind.blocks()
                for at in range(0, numbers.size, BLOCKS_A_BATCH):
                    some = slice(at, at + BLOCKS_A_BATCH)
                    yield _blocks(batch_id, numbers[some], rows[some], name)
        yield _batch(acks=pa.array([self._acks], pa.int64()))

    def _located(self, item_ids: pa.Array, plain: Flags) -> Located:
        """Where the items lie; refused also where the outcome is strange, and where a batch counts."""
        located = ids.locate(item_ids, self._salts)
        refusal = np.where(
            (located.refusal == Refusal.GOOD) & ~plain, np.int8(Refusal.OUTCOME), located.refusal
        )
        counting = np.array(
            [self._mode(batch_id) is Mode.ESTIMATED for batch_id in located.batches], np.bool_
        )
        if counting.any():
            counted = (refusal == Refusal.GOOD) & counting[located.batch]
            refusal = np.where(counted, np.int8(Refusal.ESTIMATED), refusal)
        return replace(located, refusal=refusal)

    def _salts(self, batch_ids: Sequence[str]) -> Mapping[str, bytes]:
        for batch_id in batch_ids:
            if batch_id not in self._known:
                self._known[batch_id] = self.registry.get(BatchKey(self.tenant, batch_id))
        return {batch_id: batch.salt for batch_id in batch_ids if (batch := self._known[batch_id])}

    def _mode(self, batch_id: str) -> Mode | None:
        batch = self._known[batch_id]
        return batch.mode if batch else None

    def _fold(self, batch_id: str) -> _BatchFold:
        batch = self._known[batch_id]
        if batch_id not in self._folds and batch is not None:
            self._folds[batch_id] = _BatchFold.of(batch.page_bits)
        return self._folds[batch_id]


def _outcomes(outcome: pa.Array) -> tuple[Flags, Flags]:
    """Which rows succeeded, as those do that do not say, and which failed."""
    if outcome.null_count == len(outcome):
        return np.ones(len(outcome), np.bool_), np.zeros(len(outcome), np.bool_)
    text = pc.fill_null(outcome, str(Outcome.SUCCESS))
    return tuple(pc.equal(text, str(one)).to_numpy(False) for one in (Outcome.SUCCESS, Outcome.FAILURE))


def _by_batch(located: Located) -> Iterator[tuple[int, Rows]]:
    """The rows that are good, batch by batch."""
    rows = np.flatnonzero(located.refusal == Refusal.GOOD)
    codes = located.batch[rows]
    if not rows.size:
        return
    if codes[0] == codes.max() == codes.min():
        yield int(codes[0]), rows
        return
    order = np.argsort(codes, kind="stable")
    numbers, first = np.unique(codes[order], return_index=True)
    yield from zip(numbers.tolist(), np.split(rows[order], first[1:]), strict=True)


def _reasons(fold: _BatchFold, batch_id: str, portion: Portion, failed: Rows) -> Iterator[pa.RecordBatch]:
    """Some of the failures that say why."""
    left = failed[portion.reason.is_valid().to_numpy(False)[failed]][: REASONS - fold.reasons]
    said = [(_text(portion.item_id[row]), _text(portion.reason[row])) for row in left.tolist()]
    plain = [(item, reason) for item, reason in said if is_plain(reason)]
    fold.reasons += len(plain)
    if plain:
        rows = [{"batch_id": batch_id, "item_id": item, "reason": reason} for item, reason in plain]
        yield _batch(reason=pa.array(rows, FOLDED.field("reason").type))


def is_plain(reason: str) -> bool:
    """Whether a reason may be kept, as the tracker's own edge has it."""
    return 0 < len(reason) <= REASON_MAX and not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in reason)


def _aside(portion: Portion, refusal: NDArray[np.int8], file: str) -> Iterator[pa.RecordBatch]:
    """The rows that set no bit, and the lines that are no rows, as they came, each with why."""
    rows = np.flatnonzero(refusal)
    facts = [
        (
            _text(portion.item_id[row]),
            _text(portion.outcome[row]),
            _text(portion.reason[row]),
            Refusal(why).word,
        )
        for row, why in zip(rows.tolist(), refusal[rows].tolist(), strict=True)
    ]
    facts += [(line, None, None, Refusal.UNREADABLE.word) for line in portion.lines]
    names = ("item_id", "outcome", "reason", "refusal")
    if facts:
        found = [{"file": file, **dict(zip(names, fact, strict=True))} for fact in facts]
        yield _batch(aside=pa.array(found, FOLDED.field("aside").type))


def _blocks(batch_id: str, numbers: NDArray[np.int64], rows: bits.Words, name: str) -> pa.RecordBatch:
    kind = FOLDED.field("block").type
    columns = {
        "batch_id": pa.array([batch_id] * numbers.size),
        "block": pa.array(numbers),
        name: bits.to_column(rows),
    }
    children = [columns.get(child.name, pa.nulls(numbers.size, child.type)) for child in kind]
    return _batch(block=pa.StructArray.from_arrays(children, fields=list(kind)))


def _batch(**column: pa.Array) -> pa.RecordBatch:
    """Rows of FOLDED that have this one column."""
    (filled,) = column.values()
    columns = [column.get(one.name, pa.nulls(len(filled), one.type)) for one in FOLDED]
    return pa.RecordBatch.from_arrays(columns, schema=FOLDED)


def _text(value: pa.Scalar) -> str | None:
    """A text as it came, whatever its bytes."""
    raw = value.cast(pa.binary()).as_py()
    return None if raw is None else raw.decode("utf-8", "replace")
