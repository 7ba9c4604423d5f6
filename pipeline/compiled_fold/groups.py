"""The groups that the kernel knows, and its calls. Rows that it declines are yielded, for NumPy to judge."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.compiled_fold.loading import kernel
from pipeline.compiled_fold.pages import Page
from pipeline.shared_by_jobs.bitmaps import Fold

GROUP = np.dtype([("head", "S80"), ("start", "<i8"), ("upto", "<i8"), ("bitmap", "<u8")])
LEAST_GROUPS = 1 << 4
MOST_GROUPS = 1 << 16
"""Groups that are known at once, a power of two; after so many, all are forgotten."""
FIRST_DECLINED = 1 << 10
"""Rows that the first call of a portion may decline; each next one may decline GROWTH times as many."""
GROWTH = 4
OFFSET_BYTES = 4

Call: TypeAlias = Callable[[object, int, int], int]
"""A call of the kernel: of a state, from a row on, upto so many rows; it returns the next row."""
Flags: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.int64]


class State(ctypes.Structure):
    """The known groups with a hash table of them, and what came of a call; the kernel has the same."""

    count_declined: int
    items: int
    full: int | None
    block: int
    _fields_ = (
        *(("groups", ctypes.c_void_p), ("slots", ctypes.c_void_p), ("mask", ctypes.c_uint64)),
        *(("declined", ctypes.c_void_p), ("most_declined", ctypes.c_int64)),
        *(("count_declined", ctypes.c_int64), ("items", ctypes.c_int64)),
        *(("full", ctypes.c_void_p), ("block", ctypes.c_int64)),
    )


@dataclass(slots=True)
class KnownGroups:
    """Folds rows of groups that were added."""

    kernel: ctypes.CDLL
    _state: State = field(default_factory=State)
    _groups: NDArray[np.void] = field(default_factory=lambda: np.zeros(LEAST_GROUPS, GROUP))
    _slots: NDArray[np.int32] = field(init=False)
    _heads: dict[str, int] = field(default_factory=dict)
    _folds: dict[int, Fold] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._place()

    @property
    def acks(self) -> int:
        """Return the number of items folded, each as often as rows have it."""
        return self._state.items

    def add(self, head: str, start: int, upto: int, fold: Fold) -> None:
        """Know the ids that begin with *head*: *upto* items of *fold*, from the position *start* on."""
        if head in self._heads:
            return
        if len(self._heads) == self._groups.size:
            self._make_room()
        number, address = len(self._heads), ctypes.addressof(fold.memory)
        self._heads[head] = number
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
        bounds = offsets.address + ids.offset * OFFSET_BYTES
        yield from self._fold(bounds, 1, data.address if data is not None else None, len(ids), skip)

    def fold_page(self, page: Page, skip: Flags | None) -> Iterator[Rows]:
        """Do the same with a page of Parquet."""
        yield from self._fold(page.bounds.ctypes.data, 2, page.data.address, len(page), skip)

    def _fold(
        self, bounds: int, step: int, data: int | None, rows: int, skip: Flags | None
    ) -> Iterator[Rows]:
        def call(state: object, row: int, rows: int) -> int:
            return int(self.kernel.fanin_fold(state, bounds, step, data, _address(skip), row, rows))

        yield from self._declined(call, rows)

    def fold_numbers(
        self,
        heads: Sequence[str],
        code: NDArray[Any] | slice,
        ends: tuple[NDArray[Any], NDArray[Any] | None],
        skip: Flags | None,
    ) -> Iterator[Rows]:
        """Do the same with items, or ranges from the first to the last, of the groups with these *heads*.

        *code*: which of *heads* each row has, or all of the first. *ends*: the first, and the last or None.
        """
        kind = _kind(*ends)
        low, high = (_contiguous(each, kind) for each in ends)
        codes = _contiguous(None if isinstance(code, slice) else code, np.int64)
        columns = _address(low), _address(high), kind.itemsize, _address(codes)

        def call(state: object, row: int, rows: int) -> int:
            numbers = np.array([self._heads.get(head, -1) for head in heads], np.int64)
            skipped = _address(skip)
            return int(
                self.kernel.fanin_fold_numbers(state, *columns, numbers.ctypes.data, skipped, row, rows)
            )

        yield from self._declined(call, ends[0].size)

    def _declined(self, call: Call, rows: int) -> Iterator[Rows]:
        """Yield the numbers of the rows that *call* declines, which folds the others."""
        row, most = 0, FIRST_DECLINED
        while row < rows:
            declined = np.empty(min(most, rows - row), np.int64)
            row, most = self._until(call, declined, row, rows), most * GROWTH
            if self._state.count_declined:
                yield declined[: self._state.count_declined]

    def _until(self, call: Call, declined: Rows, row: int, rows: int) -> int:
        """Fold from *row* on, until *declined* is full; return the next row."""
        state = self._state
        state.declined, state.most_declined, state.count_declined = declined.ctypes.data, declined.size, 0
        while True:
            state.full = None
            row = call(ctypes.byref(state), row, rows)
            if state.full is None:
                return row
            self._folds[state.full].reserve(state.block)

    def _make_room(self) -> None:
        """Make room for twice as many groups, or forget all."""
        if self._groups.size >= MOST_GROUPS:
            self._heads.clear()
        else:
            self._groups = np.concatenate([self._groups, np.zeros_like(self._groups)])
        self._place()

    def _place(self) -> None:
        """Build the hash table of the groups, with four slots for each that there is room for."""
        self._slots = np.zeros(4 * self._groups.size, np.int32)
        self._state.groups, self._state.slots = self._groups.ctypes.data, self._slots.ctypes.data
        self._state.mask = self._slots.size - 1
        self.kernel.fanin_add_groups(ctypes.byref(self._state), 0, len(self._heads))


def _kind(first: NDArray[Any], last: NDArray[Any] | None) -> np.dtype[Any]:
    """Return the type in which the kernel reads both: that of 32 bits, if they have it, else of 64."""
    kinds = {each.dtype for each in (first, last) if each is not None}
    return np.dtype(np.int32 if kinds == {np.dtype(np.int32)} else np.int64)


def _contiguous(numbers: NDArray[Any] | None, kind: Any) -> NDArray[Any] | None:
    return None if numbers is None else np.ascontiguousarray(numbers, kind)


def _address(column: NDArray[Any] | None) -> int | None:
    return None if column is None else column.ctypes.data


def known_groups() -> KnownGroups | None:
    """Return no groups yet, for the kernel; None if this machine has none."""
    found = kernel()
    return KnownGroups(found) if found else None
