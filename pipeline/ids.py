"""Item ids by the column: parsed, and held against the salts of their batches. Pure, in numpy and Arrow.

The rules are the tracker's. Ids of one group share all but their index, so each distinct ``batchId:groupId``
is parsed and its tag checked once, by the tracker's own code, and only the indexes are read row by row.
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
from fanin.tracker.ids import GroupId, ItemId

PREFIX_BYTES = 74
"""``batchId:groupId:``, two UUIDs with their colons."""
INDEX_DIGITS = 19
"""An index in its canonical form has no more; one with so many is beyond every group."""
BEYOND = 10 ** (INDEX_DIGITS - 1)

Salts = Callable[[Sequence[str]], Mapping[str, bytes]]
"""The salts of those of the given batches that there are; asked once a column, each batch once."""


class Refusal(IntEnum):
    """Why an ack sets no bit; GOOD where it does."""

    GOOD = 0
    MALFORMED = 1
    NO_BATCH = 2
    FOREIGN = 3
    """The batch exists and never handed this id out."""
    OUT_OF_RANGE = 4
    ESTIMATED = 5
    """The batch counts its acks, and a count that is folded twice is wrong."""
    OUTCOME = 6
    """The outcome is neither success nor failure."""
    UNREADABLE = 7
    """A line that is no row of a log."""

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Located:
    """One row an id: its batch, as an index into *batches*, its place in it, and why not.

    *batch* and *position* mean nothing where *refusal* is not GOOD.
    """

    batches: tuple[str, ...]
    batch: NDArray[np.int64]
    position: NDArray[np.int64]
    refusal: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class _Prefix:
    """What one distinct prefix says: a group of a batch, or nothing."""

    batch_id: str | None = None
    group: GroupId | None = None


def locate(ids: pa.Array, salts_of: Salts) -> Located:
    """Where the items of *ids* lie, a column of strings or bytes with nulls among them."""
    raw = pc.fill_null(ids.cast(pa.binary()), b"")
    heads = pc.binary_slice(raw, 0, PREFIX_BYTES).dictionary_encode()
    index = indexes(pc.binary_slice(raw, PREFIX_BYTES, PREFIX_BYTES + INDEX_DIGITS + 1))
    prefixes = [_prefix(head) for head in heads.dictionary.to_pylist()]
    return _locate(prefixes, heads.indices.to_numpy(), index, salts_of)


def indexes(texts: pa.Array) -> NDArray[np.int64]:
    """The indexes that *texts* (binary, no nulls) are; -1 where one is not in its canonical form."""
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
    """The ends of the texts, the first one's start before them, and all their bytes."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    held = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return ends - ends[:1].astype(np.int64), held[ends[0] : ends[-1]]


def _locate(prefixes: list[_Prefix], code: NDArray[Any], index: NDArray[np.int64], salts: Salts) -> Located:
    """The rows of *index*, each under the prefix that its *code* names."""
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
    return Located(batches, batch[code], start[code] + index, found)


def _prefix(head: bytes) -> _Prefix:
    """The group that ids with this head are of, by the tracker's own parser."""
    try:
        item = ItemId.parse(head.decode("utf-8", "replace") + "0")
    except InvalidRequest:
        return _Prefix()
    return _Prefix(item.batch_id, GroupId.decode(item.group_id))


def _judge(prefix: _Prefix, salts: Mapping[str, bytes]) -> Refusal:
    """What the tag says of a prefix; the index is for its row to judge."""
    if prefix.batch_id is None:
        return Refusal.MALFORMED
    salt = salts.get(prefix.batch_id)
    if salt is None:
        return Refusal.NO_BATCH
    if prefix.group is None or not prefix.group.is_of(salt, prefix.batch_id):
        return Refusal.FOREIGN
    return Refusal.GOOD
