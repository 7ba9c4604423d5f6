"""The groups that the kernel knows, and its calls. Rows that it declines are yielded, for NumPy to judge."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.compiled_fold.loading import kernel
from pipeline.shared_by_jobs.bitmaps import Fold

GROUP = np.dtype([("head", "S80"), ("start", "<i8"), ("upto", "<i8"), ("bitmap", "<u8")])
LEAST_GROUPS = 1 << 4
MOST_GROUPS = 1 << 16
"""Groups that are known at once, a power of two; after so many, all are forgotten."""
FIRST_DECLINED = 1 << 10
"""Rows that the first call of a portion may decline; each next one may decline GROWTH times as many."""
GROWTH = 4
OFFSET_BYTES = 4

Flags: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.int64]


class State(ctypes.Structure):
    """The known groups with a hash table of them, and what came of a call; the kernel has the same."""

    count_declined: int
    full: int | None
    block: int
    _fields_ = (
        *(("groups", ctypes.c_void_p), ("slots", ctypes.c_void_p), ("mask", ctypes.c_uint64)),
        *(("declined", ctypes.c_void_p), ("most_declined", ctypes.c_int64)),
        *(("count_declined", ctypes.c_int64), ("full", ctypes.c_void_p), ("block", ctypes.c_int64)),
    )


@dataclass(slots=True)
class KnownGroups:
    """Folds rows of groups that were added."""

    kernel: ctypes.CDLL
    acks: int = 0
    """Rows folded."""
    _state: State = field(default_factory=State)
    _groups: NDArray[np.void] = field(default_factory=lambda: np.zeros(LEAST_GROUPS, GROUP))
    _slots: NDArray[np.int32] = field(init=False)
    _heads: set[str] = field(default_factory=set)
    _folds: dict[int, Fold] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._place()

    def add(self, head: str, start: int, upto: int, fold: Fold) -> None:
        """Know the ids that begin with *head*: *upto* items of *fold*, from the position *start* on."""
        if head in self._heads:
            return
        if len(self._heads) == self._groups.size:
            self._make_room()
        number, address = len(self._heads), ctypes.addressof(fold.memory)
        self._heads.add(head)
        self._folds[address] = fold
        self._groups[number] = (head.encode(), start, upto, address)
        self.kernel.fanin_add_groups(ctypes.byref(self._state), number, number + 1)

    def fold(self, ids: pa.StringArray, skip: Flags | None) -> Iterator[Rows]:
        """Set the bits of rows of known groups; yield the numbers of the others, and of all to *skip*.

        Groups that are added between two of them are known for the next rows.
        """
        if ids.null_count:
            nulls = ids.is_null().to_numpy(False)
            skip = nulls if skip is None else skip | nulls
        _, offsets, data = ids.buffers()
        texts = (
            offsets.address + ids.offset * OFFSET_BYTES,
            data.address if data is not None else None,
            skip.ctypes.data if skip is not None else None,
        )
        row, most = 0, FIRST_DECLINED
        while row < len(ids):
            declined = np.empty(min(most, len(ids) - row), np.int64)
            after = self._call(texts, declined, row, len(ids))
            found = declined[: self._state.count_declined]
            self.acks += after - row - found.size
            row, most = after, most * GROWTH
            if found.size:
                yield found

    def _call(self, texts: tuple[int | None, ...], declined: Rows, row: int, rows: int) -> int:
        """Fold from *row* on, until *declined* is full; return the next row."""
        state = self._state
        state.declined, state.most_declined, state.count_declined = declined.ctypes.data, declined.size, 0
        while True:
            state.full = None
            row = self.kernel.fanin_fold(ctypes.byref(state), *texts, row, rows)
            if state.full is None:
                return row
            self._folds[state.full].reserve(state.block)

    def _make_room(self) -> None:
        """Make room for twice as many groups, or forget all."""
        if self._groups.size >= MOST_GROUPS:
            self._heads.clear()
            self._folds.clear()
        else:
            self._groups = np.concatenate([self._groups, np.zeros_like(self._groups)])
        self._place()

    def _place(self) -> None:
        """Build the hash table of the groups, with four slots for each that there is room for."""
        self._slots = np.zeros(4 * self._groups.size, np.int32)
        self._state.groups, self._state.slots = self._groups.ctypes.data, self._slots.ctypes.data
        self._state.mask = self._slots.size - 1
        self.kernel.fanin_add_groups(ctypes.byref(self._state), 0, len(self._heads))


def known_groups() -> KnownGroups | None:
    """Return no groups yet, for the kernel; None if this machine has none."""
    found = kernel()
    return KnownGroups(found) if found else None
