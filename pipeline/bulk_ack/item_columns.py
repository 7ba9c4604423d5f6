"""The columns of a log that name items: texts, or batch_id and group_id with an index or a range. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.bulk_ack import item_ids
from pipeline.bulk_ack.item_ids import BEYOND, INDEX_DIGITS, Located, Salts
from pipeline.compiled_fold.groups import KnownGroups
from pipeline.compiled_fold.pages import Page

Longs: TypeAlias = NDArray[np.int64]

PAIRS_A_ROW = 4
"""Pairs of a batch and a group for each row, up to which the used ones are found by a table of all."""


@dataclass(frozen=True, slots=True)
class ItemIds:
    """A column of item ids."""

    ids: pa.Array

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Longs) -> ItemIds:
        """Return these *rows*."""
        return ItemIds(self.ids.take(pa.array(rows)))

    def declined(self, known: KnownGroups, skip: NDArray[np.bool_] | None) -> Iterator[Longs] | None:
        """Fold the rows of *known* groups; yield the numbers of the others, and of all to *skip*.

        None if the kernel does not read such a column.
        """
        return known.fold(self.ids, skip) if pa.types.is_string(self.ids.type) else None

    def locate(self, salts_of: Salts) -> Located:
        """Return the item of each row."""
        return item_ids.locate(self.ids, salts_of)

    def texts(self, rows: Longs) -> list[str | None]:
        """Return what each of *rows* has."""
        return texts_of(self.ids, rows)

    def first_ids(self, rows: Longs) -> list[str | None]:
        """Return the item id of each of *rows*, which are located."""
        return self.texts(rows)


@dataclass(frozen=True, slots=True)
class ItemPage:
    """A column of item ids, as a page of Parquet has them."""

    page: Page

    def __len__(self) -> int:
        return len(self.page)

    def take(self, rows: Longs) -> ItemIds:
        """Return a copy of these *rows*."""
        return ItemIds(self.page.texts(rows))

    def declined(self, known: KnownGroups, skip: NDArray[np.bool_] | None) -> Iterator[Longs]:
        """Do what `ItemIds.declined` does."""
        return known.fold_page(self.page, skip)

    def locate(self, salts_of: Salts) -> Located:
        """Return the item of each row."""
        return self.take(np.arange(len(self))).locate(salts_of)

    def texts(self, rows: Longs) -> list[str | None]:
        """Return what each of *rows* has."""
        return texts_of(self.page.texts(rows), np.arange(rows.size))

    def first_ids(self, rows: Longs) -> list[str | None]:
        """Return the item id of each of *rows*, which are located."""
        return self.texts(rows)


@dataclass(frozen=True, slots=True)
class ItemNumbers:
    """Columns of texts *batch_id* and *group_id*, and the indexes *first* to *last*, which is inclusive.

    Without *last* a row is the item *first*. Indexes are integers, or their texts.
    """

    batch_id: pa.Array
    group_id: pa.Array
    first: pa.Array
    last: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: Longs) -> ItemNumbers:
        """Return these *rows*."""
        at = pa.array(rows)
        last = None if self.last is None else self.last.take(at)
        return ItemNumbers(self.batch_id.take(at), self.group_id.take(at), self.first.take(at), last)

    def declined(self, known: KnownGroups, skip: NDArray[np.bool_] | None) -> Iterator[Longs] | None:
        """Do what `ItemIds.declined` does."""
        heads, code = _heads(self.batch_id, self.group_id)
        return known.fold_numbers(heads, code, self._ends(), skip)

    def locate(self, salts_of: Salts) -> Located:
        """Return the item, or the range of items, of each row."""
        heads, code = _heads(self.batch_id, self.group_id)
        first, last = self._ends()
        return item_ids.located([item_ids.prefix(head) for head in heads], code, first, salts_of, last)

    def _ends(self) -> tuple[NDArray[Any], NDArray[Any] | None]:
        return integers(self.first), None if self.last is None else integers(self.last)

    def texts(self, rows: Longs) -> list[str | None]:
        """Return what each of *rows* has, as an item id, or a range of items in the notation of the API."""
        columns = (self.batch_id, self.group_id, self.first, *([] if self.last is None else [self.last]))
        return [_joined(*values) for values in zip(*(texts_of(each, rows) for each in columns), strict=True)]

    def first_ids(self, rows: Longs) -> list[str | None]:
        """Return the id of the first item of each of *rows*, which are located."""
        return ItemNumbers(self.batch_id, self.group_id, self.first).texts(rows)


ItemColumns: TypeAlias = ItemIds | ItemPage | ItemNumbers


def texts_of(column: pa.Array, rows: Longs) -> list[str | None]:
    """Return the texts of these *rows* of texts or numbers; bytes that are not UTF-8 are replaced."""
    chosen = column.take(pa.array(rows, pa.int64()))
    if pa.types.is_dictionary(chosen.type):
        chosen = chosen.dictionary_decode()
    if pa.types.is_integer(chosen.type):
        chosen = chosen.cast(pa.string())
    raw = chosen.cast(pa.binary()).to_pylist()
    return [None if each is None else each.decode("utf-8", "replace") for each in raw]


def _joined(batch_id: str | None, group_id: str | None, *ends: str | None) -> str | None:
    if not any([batch_id, group_id, *ends]):
        return None
    first, *last = (end or "" for end in ends)
    return "-".join([f"{batch_id or ''}:{group_id or ''}:{first}", *last])


def integers(column: pa.Array) -> NDArray[Any]:
    """Return the indexes in *column*; -1 for null, and for a text that is not in canonical form."""
    if pa.types.is_null(column.type):
        return np.full(len(column), -1)
    if not pa.types.is_integer(column.type):
        raw = pc.fill_null(column.cast(pa.binary()), b"")
        return item_ids.indexes(pc.binary_slice(raw, 0, INDEX_DIGITS + 1))
    if pa.types.is_uint64(column.type):
        column = pc.min_element_wise(column, pa.scalar(BEYOND, pa.uint64()), skip_nulls=False)
    if column.null_count or pa.types.is_uint64(column.type):
        column = pc.fill_null(column.cast(pa.int64()), -1)
    found: NDArray[Any] = column.to_numpy()
    return found


def _heads(batch_id: pa.Array, group_id: pa.Array) -> tuple[list[str], NDArray[Any] | slice]:
    """Return the beginnings of the ids of the distinct groups, and which of them each row has.

    The latter is a slice of all rows if they are of one.
    """
    batch, group = _encoded(batch_id), _encoded(group_id)
    if batch.is_one and group.is_one:
        return [f"{batch.text(0)}:{group.text(0)}:"], slice(None)
    pairs, code = _used(batch.codes, group.codes, group.size)
    named = [(batch.text(pair // group.size), group.text(pair % group.size)) for pair in pairs]
    return [f"{batch_text}:{group_text}:" for batch_text, group_text in named], code


@dataclass(frozen=True, slots=True)
class _Encoded:
    codes: NDArray[Any]
    texts: pa.Array
    is_one: bool
    """Each row has the only text."""

    @property
    def size(self) -> int:
        """Return the number of codes; the last is that of rows without a text."""
        return len(self.texts) + 1

    def text(self, code: int) -> str:
        return texts_of(self.texts, np.array([code]))[0] or "" if code < len(self.texts) else ""


def _encoded(column: pa.Array) -> _Encoded:
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    codes, texts = column.indices, column.dictionary.cast(pa.string())
    is_one = len(codes) > 0 and len(texts) == 1 and not codes.null_count
    if codes.null_count:
        codes = pc.fill_null(codes.cast(pa.int64()), len(texts))
    return _Encoded(codes.to_numpy(), texts, is_one and texts.is_valid()[0].as_py())


def _used(batch: NDArray[Any], group: NDArray[Any], groups: int) -> tuple[list[int], NDArray[Any] | slice]:
    """Return the pairs of codes that rows have, as numbers, and which of them each row has."""
    if not batch.size:
        return [], batch
    if batch.min() == batch.max() and group.min() == group.max():
        return [int(batch[0]) * groups + int(group[0])], slice(None)
    pair = batch.astype(np.int64) * groups + group
    if int(pair.max()) >= PAIRS_A_ROW * pair.size:
        found, code = np.unique(pair, return_inverse=True)
        return found.tolist(), code
    flags = np.zeros(int(pair.max()) + 1, np.int64)
    flags[pair] = 1
    return np.flatnonzero(flags).tolist(), (np.cumsum(flags) - 1)[pair]
