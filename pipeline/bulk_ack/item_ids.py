"""Parses a column of item ids and checks them against the salts of their batches. Pure, in numpy and Arrow.

The rules are the tracker's. Ids of one group differ only in their index, so the tracker's own code parses
and checks each distinct ``batchId:groupId`` once; only the indexes are read row by row. Most columns hold
well-formed ids of one group, with few others, which take a third of the time.
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
    """One entry per row: its batch, as an index into *batches*, its position in it, and its refusal.

    *batch* and the positions are undefined unless *refusal* is GOOD. *last*: where rows are ranges, the
    positions of their last items. *groups*: the distinct prefixes that batches issued.
    """

    batches: tuple[str, ...]
    batch: NDArray[np.int64]
    position: NDArray[np.int64]
    refusal: NDArray[np.int8]
    last: NDArray[np.int64] | None = None
    groups: tuple[Prefix, ...] = ()


@dataclass(frozen=True, slots=True)
class Prefix:
    """The parsed form of a distinct ``batchId:groupId:``: a group of a batch, or nothing."""

    batch_id: str | None = None
    group: GroupId | None = None
    text: str = ""


def locate(ids: pa.Array, salts_of: Salts) -> Located:
    """Return the batch and position of each of *ids*, a column of strings or bytes, nulls included."""
    raw = pc.fill_null(ids.cast(pa.binary()), b"")
    head = _usual_head(raw) if len(raw) else b""
    index = _of_one_group(raw, head)
    others = np.flatnonzero(index < 0)
    if not others.size and len(raw):
        return located([prefix(_text(head))], slice(None), index, salts_of)
    if others.size > len(raw) // 2:
        return located(*_of_any_groups(raw), salts_of)
    prefixes, codes, indexes_of_others = _of_any_groups(raw.take(pa.array(others)))
    code = np.zeros(len(raw), np.int64)
    code[others], index[others] = codes + 1, indexes_of_others
    return located([prefix(_text(head)), *prefixes], code, index, salts_of)


def _of_one_group(raw: pa.Array, head: bytes) -> NDArray[np.int64]:
    """Return the indexes of ids that begin with *head*; -1 of others, and of malformed ones."""
    is_of = pc.starts_with(raw, head)
    if len(head) == PREFIX_BYTES and is_of.true_count == len(raw):
        return after(raw, PREFIX_BYTES)
    if len(head) == PREFIX_BYTES and is_of.true_count > len(raw) // 2:
        return after(raw, PREFIX_BYTES, is_of.to_numpy(False))
    return np.full(len(raw), -1)


def _usual_head(raw: pa.Array) -> bytes:
    """Return the head that two of three ids have, else that of the first."""
    heads: list[bytes] = [raw[at].as_py()[:PREFIX_BYTES] for at in (0, len(raw) // 2, -1)]
    return max(heads, key=heads.count)


def _of_any_groups(raw: pa.Array) -> tuple[list[Prefix], NDArray[Any], NDArray[np.int64]]:
    """Return the distinct heads of ids, parsed; which of them each has; and its index, -1 if malformed."""
    heads = pc.binary_slice(raw, 0, PREFIX_BYTES).dictionary_encode()
    index = indexes(pc.binary_slice(raw, PREFIX_BYTES, PREFIX_BYTES + INDEX_DIGITS + 1))
    return [prefix(_text(head)) for head in heads.dictionary.to_pylist()], heads.indices.to_numpy(), index


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


def located(
    prefixes: list[Prefix],
    code: NDArray[Any] | slice,
    index: NDArray[Any],
    salts_of: Salts,
    last: NDArray[Any] | None = None,
) -> Located:
    """Return the items *index*, or *index* to *last*, of groups of *prefixes*; -1 is malformed.

    *code*: which of *prefixes* each row has, or all of one.
    """
    batches = tuple(sorted({prefix.batch_id for prefix in prefixes if prefix.batch_id}))
    numbers = {batch_id: number for number, batch_id in enumerate(batches)}
    known = salts_of(batches) if batches else {}
    batch = np.array([numbers.get(prefix.batch_id or "", -1) for prefix in prefixes], np.int64)
    start = np.array([prefix.group.start if prefix.group else 0 for prefix in prefixes], np.int64)
    upto = np.array([prefix.group.upto if prefix.group else 0 for prefix in prefixes], np.int64)
    refusal = np.array([_judge(prefix, known) for prefix in prefixes], np.int8)
    found = _refusals(refusal[code], upto[code], index, last)
    ends = None if last is None else start[code] + last
    groups = tuple(prefix for prefix, why in zip(prefixes, refusal, strict=True) if why == Refusal.GOOD)
    code_of_batch = np.broadcast_to(batch[code], index.shape)
    return Located(batches, code_of_batch, start[code] + index, found, ends, groups)


def _refusals(
    refusal: NDArray[np.int8], upto: NDArray[np.int64], index: NDArray[Any], last: NDArray[Any] | None
) -> NDArray[np.int8]:
    """Return the *refusal* of each row, with that of its indexes in a group of *upto* items."""
    malformed = index < 0
    if last is not None:
        malformed |= last < index
    beyond = (index if last is None else last) >= upto
    if not (refusal.any() or malformed.any() or beyond.any()):
        return np.zeros(index.shape, np.int8)
    found = np.where((refusal == Refusal.GOOD) & beyond, np.int8(Refusal.OUT_OF_RANGE), refusal)
    return np.where(malformed, np.int8(Refusal.MALFORMED), found)


def prefix(head: str) -> Prefix:
    """Return the group of the ids with this head, by the tracker's own parser."""
    try:
        item = ItemId.parse(head + "0")
    except InvalidRequest:
        return Prefix()
    return Prefix(item.batch_id, GroupId.decode(item.group_id), head)


def _text(head: bytes) -> str:
    return head.decode("utf-8", "replace")


def _judge(prefix: Prefix, salts: Mapping[str, bytes]) -> Refusal:
    """Return the refusal of a prefix by its tag; the index is checked per row."""
    if prefix.batch_id is None:
        return Refusal.MALFORMED
    salt = salts.get(prefix.batch_id)
    if salt is None:
        return Refusal.NO_BATCH
    if prefix.group is None or not prefix.group.is_of(salt, prefix.batch_id):
        return Refusal.FOREIGN
    return Refusal.GOOD
