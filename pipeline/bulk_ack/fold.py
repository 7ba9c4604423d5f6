"""Folds the ack logs of one task to a bitmap per block of pages, and collects the rejected rows.

A task reads the row of each batch in its logs once, consistently. The batch's salt distinguishes real ids
from forged ones; it is a secret, so it is in no file and no shuffle of Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fanin.tracker import Batch, BatchKey, GroupId, Mode, Outcome
from fanin.tracker.rules.model import is_reason
from fanin.tracker.rules.page import PAGE_BITS_MAX
from pipeline.bulk_ack import logs
from pipeline.bulk_ack.item_columns import ItemColumns, ItemIds, texts_of
from pipeline.bulk_ack.item_ids import Located, Prefix, Refusal
from pipeline.bulk_ack.logs import Portion, joined
from pipeline.bulk_ack.rows import BLOCKS_A_BATCH, FOLDED, REJECTED, filled, nested
from pipeline.compiled_fold.groups import KnownGroups, known_groups
from pipeline.shared_by_jobs import bitmaps
from pipeline.table_changes.acks import PageAck, acks_of, kind_of

REASONS = 128
"""Reasons per batch that one task passes on; the tracker keeps no more."""
FEW = 64
"""Declined rows wait if they are less than one of so many,"""
MOST_WAITING = 1 << 12
"""and until they are so many."""

Flags: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.int64]


class Registry(Protocol):
    """The tracker's store, as far as a task reads it."""

    def get(self, key: BatchKey) -> Batch | None: ...


@dataclass(slots=True)
class _BatchFold:
    succeeded: bitmaps.Fold
    failed: bitmaps.Fold
    reasons: int = 0

    @classmethod
    def of(cls, page_bits: int) -> _BatchFold:
        return cls(bitmaps.Fold(page_bits), bitmaps.Fold(page_bits))


@dataclass(slots=True)
class Folder:
    """Folds the logs of one tenant in one task: takes portions, yields rows of FOLDED, the blocks last."""

    registry: Registry
    tenant: str
    compiled: KnownGroups | None = field(default_factory=known_groups)
    _acks: int = 0
    _known: dict[str, Batch | None] = field(default_factory=dict)
    _folds: dict[str, _BatchFold] = field(default_factory=dict)
    _file: str = ""
    _waiting: list[Portion] = field(default_factory=list)

    def take(self, portion: Portion, file: str) -> Iterator[pa.RecordBatch]:
        """Fold the real acks of *portion*, a part of *file*; yield rejected rows, and reasons of failures.

        Few rows that the kernel declines wait for others of the file: one takes as long to judge as some.
        """
        if self._waiting and file != self._file:
            yield from self._judge_waiting()
        self._file = file
        for some in self._declined(portion):
            is_few = len(some.items) * FEW < len(portion.items)
            if is_few and isinstance(some.items, ItemIds) and not some.lines:
                self._waiting.append(some)
                if sum(len(each.items) for each in self._waiting) >= MOST_WAITING:
                    yield from self._judge_waiting()
                continue
            yield from self._judge_waiting()
            yield from self._judged(some, file)

    def archived(self, path: str, kind: str) -> Iterator[Portion]:
        """Yield the acks in a file of the archive, of changes of a *kind* of table, as portions of a log."""
        for lines in logs.lines_of(path):
            found = acks_of(lines, kind, self.tenant)
            self._salts(sorted({ack.batch_id for ack in found.acks} - self._known.keys()))
            acks = [(ack.batch_id, _group_of(ack, self._known[ack.batch_id]), *ack[2:]) for ack in found.acks]
            yield logs.portion(_columns(acks, (*logs.RANGES, "outcome")), found.lines)
            reasons = [(each.item_id, Outcome.FAILURE, each.reason) for each in found.reasons]
            yield logs.portion(_columns(reasons, ("item_id", *logs.OUTCOME_NAMES)))

    def _judge_waiting(self) -> Iterator[pa.RecordBatch]:
        if self._waiting:
            yield from self._judged(joined(self._waiting), self._file)
            self._waiting.clear()

    def _declined(self, portion: Portion) -> Iterator[Portion]:
        """Fold successes by the kernel, if it is there; yield portions of the other rows, and the lines."""
        succeeded, _ = _outcomes(portion.outcome)
        skip = None if succeeded.all() else ~succeeded
        found = portion.items.declined(self.compiled, skip) if self.compiled else None
        if found is None:
            yield portion
            return
        for rows in found:
            yield portion.take(rows)
        if portion.lines:
            yield replace(portion.take(np.zeros(0, np.int64)), lines=portion.lines)

    def _add_groups(self, compiled: KnownGroups, found: Iterable[Prefix]) -> None:
        """Let the kernel fold later rows of the groups *found*, unless their batches count or lack items."""
        for each in found:
            if not each.group or not each.batch_id or self._mode(each.batch_id) is Mode.ESTIMATED:
                continue
            if each.group.start + each.group.upto <= self._total(each.batch_id):
                fold = self._fold(each.batch_id).succeeded
                compiled.add(each.text, each.group.start, each.group.upto, fold)

    def _judged(self, portion: Portion, file: str) -> Iterator[pa.RecordBatch]:
        """Fold the rows that the tracker's rules accept; yield the others, and reasons of failures."""
        with logs.named_in_errors(file):  # a dictionary can lack an entry
            yield from self._sorted_out(portion, file)

    def _sorted_out(self, portion: Portion, file: str) -> Iterator[pa.RecordBatch]:
        succeeded, failed = _outcomes(portion.outcome)
        located = self._located(portion.items, succeeded | failed)
        if self.compiled:
            self._add_groups(self.compiled, located.groups)
        has_failures = failed.any()
        for number, rows in _by_batch(located):
            batch_id = located.batches[number]
            fold = self._fold(batch_id)
            if not has_failures:
                self._acks += _add(fold.succeeded, located, rows)
                continue
            numbers = np.arange(failed.size)[rows]
            failures = numbers[failed[numbers]]
            self._acks += _add(fold.succeeded, located, numbers[~failed[numbers]])
            self._acks += _add(fold.failed, located, failures)
            yield from _reasons(fold, batch_id, portion, failures)
        yield from _rejected(portion, located.refusal, file)

    def blocks(self) -> Iterator[pa.RecordBatch]:
        """Yield what take has not, every block that holds an ack, then the number of acks folded in all."""
        yield from self._judge_waiting()
        for batch_id, fold in self._folds.items():
            for name, kind in (("succeeded", fold.succeeded), ("failed", fold.failed)):
                for numbers, rows in kind.parts(BLOCKS_A_BATCH):
                    yield _blocks(batch_id, numbers, rows, name)
        acks = self._acks + (self.compiled.acks if self.compiled else 0)
        yield _batch(acks=pa.array([acks], pa.int64()))

    def _located(self, items: ItemColumns, known: Flags) -> Located:
        """Locate the items; also refuse rows without a *known* outcome, and of estimated batches.

        A batch that was restored to an earlier time has fewer items than it had issued ids.
        """
        located = items.locate(self._salts)
        refusal = self._within_totals(located)
        if not known.all():
            refusal = np.where((refusal == Refusal.GOOD) & ~known, np.int8(Refusal.OUTCOME), refusal)
        counting = np.array(
            [self._mode(batch_id) is Mode.ESTIMATED for batch_id in located.batches], np.bool_
        )
        if counting.any():
            counted = (refusal == Refusal.GOOD) & counting[located.batch]
            refusal = np.where(counted, np.int8(Refusal.ESTIMATED), refusal)
        return replace(located, refusal=refusal)

    def _within_totals(self, located: Located) -> NDArray[np.int8]:
        """Return the refusals of the rows, out of range for items beyond their batch."""
        totals = np.array([self._total(batch_id) for batch_id in located.batches], np.int64)
        last = located.position if located.last is None else located.last
        if not totals.size or last.max() < totals.min():
            return located.refusal
        beyond = (located.refusal == Refusal.GOOD) & (last >= totals[located.batch])
        return np.where(beyond, np.int8(Refusal.OUT_OF_RANGE), located.refusal)

    def _total(self, batch_id: str) -> int:
        batch = self._known[batch_id]
        return batch.total if batch else 0

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


def fold_files(paths: Iterable[str], registry: Registry, tenant: str) -> Iterator[pa.RecordBatch]:
    """Yield rows of FOLDED of the logs *paths*, as one task."""
    folder = Folder(registry, tenant)
    kernel = folder.compiled.kernel if folder.compiled else None
    for path in paths:
        kind = kind_of(path)
        for portion in logs.read(path, kernel) if kind is None else folder.archived(path, kind):
            yield from folder.take(portion, path)
    yield from folder.blocks()


def _group_of(ack: PageAck, batch: Batch | None) -> str:
    """Return the id of a group of all items that the page of *ack* may have."""
    if batch is None:
        return str(GroupId(ack.page * PAGE_BITS_MAX, PAGE_BITS_MAX, 0))
    size = batch.page_bits
    return str(GroupId.make(batch.salt, batch.batch_id, ack.page * size, size))


def _columns(rows: Sequence[tuple[object, ...]], names: Sequence[str]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    arrays = [pa.array(column, logs.KINDS[name]) for name, column in zip(names, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, list(names))


def _outcomes(outcome: pa.Array) -> tuple[Flags, Flags]:
    """Return which rows succeeded, as rows without an outcome do, and which failed."""
    if outcome.null_count == len(outcome):
        return np.ones(len(outcome), np.bool_), np.zeros(len(outcome), np.bool_)
    text = pc.fill_null(outcome, str(Outcome.SUCCESS))
    return tuple(pc.equal(text, str(one)).to_numpy(False) for one in (Outcome.SUCCESS, Outcome.FAILURE))


def _by_batch(located: Located) -> Iterator[tuple[int, Rows | slice]]:
    """Yield the row numbers without a refusal, batch by batch; a slice of all rows if they are of one."""
    if len(located.batches) == 1 and not located.refusal.any():
        yield 0, slice(None)
        return
    rows = np.flatnonzero(located.refusal == Refusal.GOOD)
    codes = located.batch[rows]
    if not rows.size:
        return
    if codes[0] == codes.max() == codes.min():
        yield int(codes[0]), rows if rows.size < located.refusal.size else slice(None)
        return
    order = np.argsort(codes.astype(np.min_scalar_type(len(located.batches))), kind="stable")
    numbers, first = np.unique(codes[order], return_index=True)
    yield from zip(numbers.tolist(), np.split(rows[order], first[1:]), strict=True)


def _add(fold: bitmaps.Fold, located: Located, rows: Rows | slice) -> int:
    """Set the bits of the items of *rows*; return their number."""
    first = located.position[rows]
    if located.last is None:
        fold.add(first)
        return first.size
    last = located.last[rows]
    fold.add_ranges(first, last)
    return int((last - first).sum()) + first.size


def _reasons(fold: _BatchFold, batch_id: str, portion: Portion, failed: Rows) -> Iterator[pa.RecordBatch]:
    """Yield the reasons of some of the failures that have one that the API would accept."""
    explained = failed[portion.reason.is_valid().to_numpy(False)[failed]][: REASONS - fold.reasons]
    given = zip(portion.items.first_ids(explained), texts_of(portion.reason, explained), strict=True)
    kept = [(item, reason) for item, reason in given if reason is not None and is_reason(reason)]
    fold.reasons += len(kept)
    if kept:
        rows = [{"batch_id": batch_id, "item_id": item, "reason": reason} for item, reason in kept]
        yield _batch(reason=pa.array(rows, FOLDED.field("reason").type))


def _rejected(portion: Portion, refusal: NDArray[np.int8], file: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows that set no bit, and the lines that are not rows, unchanged, each with its refusal."""
    rows = np.flatnonzero(refusal)
    if not rows.size and not portion.lines:
        return
    named = portion.items.texts(rows), texts_of(portion.outcome, rows), texts_of(portion.reason, rows)
    labels = [Refusal(why).label for why in refusal[rows].tolist()]
    facts = [*zip(*named, labels, strict=True)]
    facts += [(line, None, None, Refusal.UNREADABLE.label) for line in portion.lines]
    columns = [pa.array([file] * len(facts)), *map(pa.array, zip(*facts, strict=True))]
    kinds = {child.name: child.type for child in REJECTED}
    yield nested(
        "rejected", {name: column.cast(kinds[name]) for name, column in zip(kinds, columns, strict=True)}
    )


def _blocks(batch_id: str, numbers: NDArray[np.int64], rows: bitmaps.Masks, name: str) -> pa.RecordBatch:
    named = {"batch_id": pa.array([batch_id] * numbers.size), "block": pa.array(numbers)}
    return nested("block", {**named, name: bitmaps.packed(rows)})


def _batch(**column: pa.Array) -> pa.RecordBatch:
    """Return rows of FOLDED with this one *column* set."""
    return filled(FOLDED, column)
