"""Ack logs of one batch and datasets, in Parquet, made in parts: memory does not bound their size."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fanin.tracker import Batch, BatchKey, OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore

TENANT = "111122223333"
FILE_ROWS = 5_000_000
STRIDE = 387_420_489
"""A power of 3: unless 3 divides N, its first N multiples are all the numbers below N, modulo N."""
REPEATED = 20
"""One ack of so many is a repetition of an earlier one."""
SECTIONS = ("libs", "utils", "net", "admin", "doc", "python", "x11")
NEEDS = "libc6 (>= 2.34), libgcc-s1 (>= 3.0), libstdc++6 (>= 5)"
RANGE = 64
"""Items of a row that is a range."""
_LABEL = "batch.pickle"


@dataclass(frozen=True, slots=True)
class Logs:
    """A folder of ack logs: *rows* acks of one group of *batch*, in the *form* of its rows.

    *others*: batches and groups whose acks take turns with its own. *before*: items before the group.
    """

    folder: Path
    batch: Batch
    group_id: str
    rows: int
    form: str = "texts"
    others: tuple[tuple[Batch, str], ...] = ()
    before: int = 0

    @property
    def items(self) -> int:
        """Return how many items of each batch the rows may have, with those *before* its group."""
        return self.before + -(-self.rows // len(self.heads)) * (RANGE if self.form == "ranges" else 1)

    @property
    def head(self) -> str:
        """Return the beginning of each id of the batch."""
        return self.heads[0]

    @property
    def heads(self) -> list[str]:
        """Return the beginnings of the ids of each group."""
        groups = [(self.batch, self.group_id), *self.others]
        return [f"{batch.batch_id}:{group_id}:" for batch, group_id in groups]


def write_logs(folder: Path, rows: int, form: str = "texts", before: int = 0, batches: int = 1) -> Logs:
    """Write logs of *rows* acks, not a multiple of 3, in no order; some items are acked twice.

    *form*: one of FORMS. *before*: items of the batch before those of the group, which has one for each row,
    or a range. *batches*: rows of texts take turns among so many.
    """
    assert rows % 3
    items = rows * (RANGE if form == "ranges" else 1)
    (batch, group_id), *others = [_opened(before, items) for _ in range(batches)]
    logs = Logs(folder, batch, group_id, rows, form, tuple(others), before)
    folder.mkdir(parents=True)
    step = min(FILE_ROWS, -(-rows // 4))
    for number, first in enumerate(range(0, rows, step)):
        table = FORMS[form](logs, indexes(first, min(first + step, rows), rows))
        pq.write_table(table, folder / f"{number:04}.parquet", compression="zstd")
    (folder.parent / _LABEL).write_bytes(pickle.dumps(logs))
    return logs


def _opened(before: int, items: int) -> tuple[Batch, str]:
    """Return a batch with *before* items, and the id of its next group, of *items*."""
    store = MemoryStore()
    tracker = Tracker(store)
    batch = tracker.open(TENANT, OpenBatch())
    if before:
        tracker.add(TENANT, batch.batch_id, before)
    group = tracker.add(TENANT, batch.batch_id, items).groups[0]
    return store.batches[BatchKey(TENANT, batch.batch_id)], group.id


def read_logs(folder: Path) -> Logs:
    """Return the logs that were written to *folder*."""
    found: Logs = pickle.loads((folder.parent / _LABEL).read_bytes())  # noqa: S301 - our own
    return found


def indexes(first: int, last: int, rows: int) -> NDArray[np.int64]:
    """Return the items that the acks *first* to *last* - 1 of *rows* are of."""
    turns = np.arange(first, last)
    repeats = rows // REPEATED
    turns[turns >= rows - repeats] -= rows - repeats
    return turns * STRIDE % rows


def write_dataset(path: Path, rows: int) -> None:
    """Write *rows* rows of six columns, about 190 bytes of JSON each."""
    step = 1 << 19
    with pq.ParquetWriter(path, _rows(0, 1).schema, compression="zstd") as file:
        for first in range(0, rows, step):
            file.write_table(_rows(first, min(first + step, rows)))


def _rows(first: int, last: int) -> pa.Table:
    numbers = np.arange(first, last)
    texts = pa.array(numbers).cast(pa.string())
    return pa.table(
        {
            "name": pc.binary_join_element_wise("package", texts, "-"),
            "version": pc.binary_join_element_wise("1.2", texts, "."),
            "section": pa.array(SECTIONS).take(pa.array(numbers % len(SECTIONS))),
            "maintainer": pc.binary_join_element_wise("Maintainer <list", texts, "@example.org>", ""),
            "size": pa.array(numbers * 977 % 1_000_003),
            "depends": pa.array([NEEDS] * len(numbers)),
        }
    )


def _texts(logs: Logs, numbers: NDArray[np.int64]) -> pa.Table:
    heads = logs.heads
    texts = pa.array(numbers // len(heads)).cast(pa.string())
    head = pa.array(heads).take(pa.array(numbers % len(heads)))
    return pa.table({"item_id": pc.binary_join_element_wise(head, texts, "")})


def _integers(logs: Logs, numbers: NDArray[np.int64]) -> pa.Table:
    return pa.table({**_group(logs, numbers.size), "index": pa.array(numbers.astype(np.int32))})


def _ranges(logs: Logs, numbers: NDArray[np.int64]) -> pa.Table:
    first = numbers * RANGE
    return pa.table({**_group(logs, numbers.size), "first": first, "last": first + RANGE - 1})


def _group(logs: Logs, rows: int) -> dict[str, pa.Array]:
    code = np.zeros(rows, np.int32)
    named = {"batch_id": logs.batch.batch_id, "group_id": logs.group_id}
    return {name: pa.DictionaryArray.from_arrays(code, pa.array([text])) for name, text in named.items()}


FORMS = {"texts": _texts, "integers": _integers, "ranges": _ranges}
"""The columns of each form of rows."""
