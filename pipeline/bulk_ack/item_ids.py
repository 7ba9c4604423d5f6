"""Parses a column of item ids and checks them against the salts of their batches. Pure, in numpy and Arrow.

The rules are the tracker's. Ids of one group differ only in their index, so the tracker's own code parses
and checks each distinct ``batchId:groupId`` once; only the indexes are read row by row. Most columns hold
well-formed ids of one group, which take a third of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fanin.errors import InvalidRequest
from fanin.item_ids import ItemId
from fanin.tracker.rules.ids import GroupId
from pipeline.bulk_ack.indexes import after

PREFIX_BYTES = 74
"""The length of ``batchId:groupId:``, two UUIDs with their colons."""
INDEX_DIGITS = 19
"""The most digits of an index in canonical form; one with so many is beyond every group."""
BEYOND = 10 ** (INDEX_DIGITS - 1)

Salts = Callable[[Sequence[str]], Mapping[str, bytes]]
"""Returns the salts of those given batches that exist; called once per column, with each batch once."""


class Refusal(IntEnum):
    """Why an ack sets no bit; GOOD if it does."""

    GOOD = 0
    MALFORMED = 1
    NO_BATCH = 2
    FOREIGN = 3
    """The batch exists and never issued this id."""
    OUT_OF_RANGE = 4
    ESTIMATED = 5
    """The batch counts acks; a log that is folded twice would be counted twice."""
    OUTCOME = 6
    """The outcome is neither success nor failure."""
    UNREADABLE = 7
    """A line that is not a row of a log."""

    @property
    def label(self) -> str:
        """Return the name of the refusal in the saved rows."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Located:
    """One entry per id: its batch, as an index into *batches*, its position in it, and its refusal.

    *batch* and *position* are undefined unless *refusal* is GOOD.
    """

    batches: tuple[str, ...]
    batch: NDArray[np.int64]
    position: NDArray[np.int64]
    refusal: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class _Prefix:
    """The parsed form of a distinct prefix: a group of a batch, or nothing."""

    batch_id: str | None = None
    group: GroupId | None = None


def locate(ids: pa.Array, salts_of: Salts) -> Located:
    """Return the batch and position of each of *ids*, a column of strings or bytes, nulls included."""
    raw = pc.fill_null(ids.cast(pa.binary()), b"")
    head = raw[0].as_py()[:PREFIX_BYTES] if len(raw) else b""
    if (index := _of_one_group(raw, head)) is not None:
        return _locate([_prefix(head)], slice(None), index, salts_of)
    heads = pc.binary_slice(raw, 0, PREFIX_BYTES).dictionary_encode()
    index = indexes(pc.binary_slice(raw, PREFIX_BYTES, PREFIX_BYTES + INDEX_DIGITS + 1))
    prefixes = [_prefix(head) for head in heads.dictionary.to_pylist()]
    return _locate(prefixes, heads.indices.to_numpy(), index, salts_of)


def _of_one_group(raw: pa.Array, head: bytes) -> NDArray[np.int64] | None:
    """Return the indexes of ids that all begin with *head*; None if any does not, or is malformed."""
    if len(head) < PREFIX_BYTES or pc.all(pc.starts_with(raw, head)).as_py() is not True:
        return None
    return after(raw, PREFIX_BYTES)


def indexes(texts: pa.Array) -> NDArray[np.int64]:
    """Return *texts* (binary, no nulls) as indexes; -1 for one that is not in canonical form."""
    ends, data = _buffers(texts)
    starts, ends = ends[:-1], ends[1:]
    lengths = ends - starts
    leads = data[np.minimum(starts, max(data.size - 1, 0))] if data.size else lengths
    well = (lengths >= 1) & (lengths <= INDEX_DIGITS) & ((lengths == 1) | (leads != ord("0")))
    others = data - np.uint8(ord("0")) > 9
    if others.any():
        before = np.concatenate([[0], np.cumsum(others)])
        well &= before[ends] == before[starts]
    short = well & (lengths < INDEX_DIGITS)
    safe = texts if short.all() else pc.if_else(pa.array(short), texts, pa.scalar(b"0", texts.type))
    values = safe.cast(pa.string()).cast(pa.int64()).to_numpy()
    return values if short.all() else np.where(short, values, np.where(well, BEYOND, -1))


def _buffers(texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the offsets of the texts, one more than there are texts, and all their bytes."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    held = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return ends.astype(np.int64) - int(ends[0]), held[ends[0] : ends[-1]]


def _locate(
    prefixes: list[_Prefix], code: NDArray[Any] | slice, index: NDArray[np.int64], salts: Salts
) -> Located:
    """Return the rows of *index*; *code* is each row's index into *prefixes*, or all of one."""
    batches = tuple(sorted({prefix.batch_id for prefix in prefixes if prefix.batch_id}))
    numbers = {batch_id: number for number, batch_id in enumerate(batches)}
    known = salts(batches) if batches else {}
    batch = np.array([numbers.get(prefix.batch_id or "", -1) for prefix in prefixes], np.int64)
    start = np.array([prefix.group.start if prefix.group else 0 for prefix in prefixes], np.int64)
    upto = np.array([prefix.group.upto if prefix.group else 0 for prefix in prefixes], np.int64)
    refusal = np.array([_judge(prefix, known) for prefix in prefixes], np.int8)
    found = np.where(
        (refusal[code] == 0) & (index >= upto[code]), np.int8(Refusal.OUT_OF_RANGE), refusal[code]
    )
    found = np.where(index < 0, np.int8(Refusal.MALFORMED), found)
    return Located(batches, np.broadcast_to(batch[code], index.shape), start[code] + index, found)


def _prefix(head: bytes) -> _Prefix:
    """Return the group of the ids with this head, by the tracker's own parser."""
    try:
        item = ItemId.parse(head.decode("utf-8", "replace") + "0")
    except InvalidRequest:
        return _Prefix()
    return _Prefix(item.batch_id, GroupId.decode(item.group_id))


def _judge(prefix: _Prefix, salts: Mapping[str, bytes]) -> Refusal:
    """Return the refusal of a prefix by its tag; the index is checked per row."""
    if prefix.batch_id is None:
        return Refusal.MALFORMED
    salt = salts.get(prefix.batch_id)
    if salt is None:
        return Refusal.NO_BATCH
    if prefix.group is None or not prefix.group.is_of(salt, prefix.batch_id):
        return Refusal.FOREIGN
    return Refusal.GOOD
