"""A log in Parquet folds to the same bits and rejects by pages, by the kernel over Arrow, and by NumPy."""

from __future__ import annotations

from collections import Counter
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fanin.tracker.rules.model import BatchKey
from pipeline.bulk_ack import fold, logs
from pipeline.bulk_ack.fold import fold_files
from pipeline.bulk_ack.logs import UnreadableLog
from pipeline.compiled_fold import groups, numbers
from pipeline.compiled_fold.numbers import number_chunk
from pipeline.compiled_fold.pages import ColumnChunk, NotRead, Page, column_chunk
from tests.pipeline.compiled_fold import other_writers
from tests.pipeline.compiled_fold.test_groups import (
    GROUPS,
    STORE,
    TENANT,
    a_column_of_numbers,
    an_id,
    in_columns,
)

WAYS = {"numpy": (False, False), "kernel": (True, False), "pages": (True, True)}
"""Whether there is a kernel, and whether it reads pages."""
READING: dict[str, Any] = {"item_id": column_chunk, "index": number_chunk, "first": number_chunk}
"""What reads a column by pages."""


def folded(path: Path, way: str, kernel: Any, store: Any = STORE) -> dict[str, list] | str:
    """What comes out of the log, column by column; or that it cannot be read."""
    has_kernel, by_pages = WAYS[way]
    reading = column_chunk if by_pages else lambda *_: None
    with (
        patch.object(groups, "kernel", lambda: kernel if has_kernel else None),
        patch.object(logs, "column_chunk", reading),
        patch.object(logs, "number_chunk", number_chunk if by_pages else reading),
    ):
        try:
            return in_columns(list(fold_files([str(path)], store, TENANT)))
        except UnreadableLog:
            return "unreadable"


def by_pages(path: Path, kernel: Any) -> int:
    """The rows of the log that are read by pages."""
    with pa.OSFile(str(path)) as source:
        file, found = pq.ParquetFile(source), 0
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            for name in READING.keys() & file.schema_arrow.names:
                if chunk := READING[name](kernel, source, file, group, name):
                    found += sum(len(page) for page in chunk.pages(rows))
        return found


def write(random: Random, path: Path) -> int:
    """Write a log of some groups, with damaged ids, by any of pyarrow's options; its number of rows."""
    rows, some = random.choice([0, 1, 9, 70, 300]), random.sample(GROUPS, random.choice([1, 2, len(GROUPS)]))
    damaged, repeated = random.choice([0, 0.03, 0.4]), random.choice([0, 0.5, 0.98])
    ids = [an_id(random, some, damaged) for _ in range(rows)]
    ids = [ids[at // 2] if random.random() < repeated else ids[at] for at in range(rows)]
    has_nulls = random.random() < 0.7
    kind = random.choice([pa.string(), pa.large_string()])
    items = pa.array(ids if has_nulls else [text or "" for text in ids], kind)
    write_table(random, path, pa.table([items], pa.schema([pa.field("item_id", kind, nullable=has_nulls)])))
    return rows


def write_numbers(random: Random, path: Path) -> int:
    """Write a log of indexes or ranges of some groups, by any of pyarrow's options; its number of rows."""
    rows, some = (
        random.choice([0, 1, 9, 70, 300]),
        random.sample(GROUPS, random.choice([1, 1, 2, len(GROUPS)])),
    )
    items = a_column_of_numbers(random, some, rows)
    names, ends = ("index",), [items.first]
    if items.last is not None:
        names, ends = ("first", "last"), [items.first, items.last]
    is_small = all(abs(value or 0) < 1 << 31 for column in ends for value in map(int_of, column))
    kind = random.choice([pa.int32(), pa.int64(), pa.uint32() if is_positive(ends) else pa.int32()])
    if is_small and pa.types.is_integer(ends[0].type):
        ends = [column.cast(kind) for column in ends]
    columns = {"batch_id": items.batch_id, "group_id": items.group_id, **dict(zip(names, ends, strict=True))}
    fields = [
        pa.field(name, column.type, nullable=column.null_count > 0 or random.random() < 0.5)
        for name, column in columns.items()
    ]
    write_table(random, path, pa.table(list(columns.values()), pa.schema(fields)))
    return rows


def int_of(value: pa.Scalar) -> int | None:
    return None if value.as_py() is None else int(value.as_py())


def is_positive(columns: list[pa.Array]) -> bool:
    return all((int_of(value) or 0) >= 0 for column in columns for value in column)


def write_table(random: Random, path: Path, table: pa.Table) -> None:
    """Write rows, maybe with outcomes, by any of pyarrow's options."""
    if random.random() < 0.4:
        outcomes = random.choices(["success", "failure", "other", None], [9, 3, 1, 1], k=table.num_rows)
        table = table.append_column("outcome", pa.array(outcomes, pa.string()))
    pq.write_table(
        table,
        path,
        compression=random.choice(["snappy", "zstd", "gzip", "none"]),
        use_dictionary=random.choice([True, True, False]),
        dictionary_pagesize_limit=random.choice([200, 1 << 20]),
        data_page_size=random.choice([100, 3000, 1 << 20]),
        data_page_version=random.choice(["1.0", "2.0"]),
        row_group_size=random.choice([20, 1 << 20]),
        write_batch_size=random.choice([4, 1024]),
        write_page_checksum=random.random() < 0.2,
    )


WRITERS = {"texts": write, "numbers": write_numbers}


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("files", [120, pytest.param(10_000, marks=pytest.mark.proof)])
def test_generated_files_with_damaged_rows_fold_to_the_same_rejects_by_each_way(
    kernel, tmp_path, monkeypatch, files, form
):
    path, read, rows = tmp_path / "log.parquet", 0, 0
    for seed in range(files):
        monkeypatch.setattr(numbers, "ROWS_AT_ONCE", 1 + seed % 100)
        rows += WRITERS[form](Random(seed), path)
        with patch.multiple(fold, FEW=1 + seed % 64, MOST_WAITING=1 + seed % 100):
            by_way = [folded(path, way, kernel) for way in WAYS]

        assert by_way[0] != "unreadable"
        assert by_way[0] == by_way[1] == by_way[2], f"seed {seed}"
        read += by_pages(path, kernel)
    assert read > rows / (2 if form == "texts" else 5), "almost no page was read"


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("files", [200, pytest.param(10_000, marks=pytest.mark.proof)])
def test_a_file_with_damaged_bytes_folds_or_is_refused_as_by_arrow(kernel, tmp_path, files, form):
    path, found = tmp_path / "log.parquet", Counter[bool]()
    for seed in range(files):
        random = Random(seed)
        WRITERS[form](random, path)
        data = bytearray(path.read_bytes())
        footer = int.from_bytes(data[-8:-4], "little") + 8
        for _ in range(random.choice([1, 2, 9]) if len(data) > footer + 4 else 0):
            at = random.randrange(4, len(data) - footer)
            data[at] = random.choice([0, 255, data[at] ^ 1 << random.randrange(8), random.randrange(256)])
        path.write_bytes(data)

        by_arrow = folded(path, "kernel", kernel)
        assert folded(path, "pages", kernel) == by_arrow, f"seed {seed}"
        found[by_arrow == "unreadable"] += 1
    assert min(found.values()) > files / 20


BY_ARROW = ("delta", "version-2", "none", "empty")
"""What is in the names of files of which no page is read."""


@pytest.mark.parametrize("path", sorted(other_writers.FOLDER.glob("*.parquet")), ids=lambda path: path.stem)
def test_files_of_other_writers_fold_to_the_same_bits_and_rejects_by_each_way(kernel, path, tmp_path):
    store = other_writers.store()
    rows = other_writers.rows()
    if "required" in path.stem:
        rows = rows.filter(rows["item_id"].is_valid()).select(["item_id"])
    rows = rows[:0] if "empty" in path.stem else rows
    lines = (str(row).replace("'", '"').replace("None", "null") for row in rows.to_pylist())
    (log := tmp_path / path.with_suffix(".json").name).write_text("\n".join(lines))
    expected = folded(log, "numpy", kernel, store)

    for way in WAYS:
        found = folded(path, way, kernel, store)
        assert without_file(found) == without_file(expected), way
    is_by_pages = not any(each in path.stem for each in BY_ARROW)
    assert by_pages(path, kernel) == (rows.num_rows if is_by_pages else 0)
    assert store.get(BatchKey(TENANT, other_writers.BATCH))


def without_file(found: dict[str, list]) -> dict[str, list]:
    return {**found, "rejected": [{**row, "file": None} for row in found["rejected"]]}


@pytest.mark.parametrize(
    "ids", [[1], [["a"]], [{"item_id": "a"}], [b"a"]], ids=["integers", "lists", "structs", "bytes"]
)
def test_item_ids_that_are_not_texts_are_refused_by_each_way(kernel, tmp_path, ids):
    pq.write_table(pa.table({"item_id": ids * 1000}), path := tmp_path / "log.parquet")

    assert [folded(path, way, kernel) for way in WAYS] == ["unreadable"] * len(WAYS)


@pytest.mark.parametrize(
    "changed",
    [
        {"file_path": "other.parquet"},
        {"dictionary_page_offset": None, "data_page_offset": -1},
        {"dictionary_page_offset": -1},
        {"total_compressed_size": -1},
        {"total_compressed_size": 1 << 20, "total_uncompressed_size": 1 << 30},
        {"total_uncompressed_size": 1},
    ],
    ids=str,
)
def test_a_column_is_read_by_pages_where_its_compressed_bytes_are_in_the_file(kernel, tmp_path, changed):
    pq.write_table(pa.table({"item_id": ["a" * 500] * 9}), path := tmp_path / "log.parquet")
    file = pq.ParquetFile(path)
    part = file.metadata.row_group(0).column(0)
    names = ("file_path", "total_compressed_size", "total_uncompressed_size")
    known = {name: getattr(part, name) for name in (*names, "data_page_offset", "dictionary_page_offset")}

    def chunk(**facts: Any) -> Any:
        row_group = SimpleNamespace(column=lambda _: SimpleNamespace(**facts))
        metadata = SimpleNamespace(row_group=lambda _: row_group)
        described = SimpleNamespace(schema=file.schema, schema_arrow=file.schema_arrow, metadata=metadata)
        with pa.OSFile(str(path)) as source:
            return column_chunk(kernel, source, described, 0, "item_id")

    assert chunk(**known)
    assert chunk(**{**known, **changed}) is None


def test_rows_of_a_log_with_both_names_of_item_ids_have_either(kernel, tmp_path):
    ids = [f"{GROUPS[0][0]}{number}" for number in range(30)]
    columns = {"item_id": [*ids[:9], *[None] * 21], "itemId": [*[None] * 9, *ids[9:]]}
    pq.write_table(pa.table(columns), path := tmp_path / "log.parquet")

    for way in WAYS:
        found = folded(path, way, kernel)
        assert (found["acks"], found["rejected"]) == ([30], []), way


@pytest.mark.parametrize("read", range(4))
def test_rows_after_so_many_pages_are_read_by_arrow(kernel, monkeypatch, read):
    path, store, calls = other_writers.FOLDER / "pyarrow-fallback.parquet", other_writers.store(), count()
    expected, read_page = folded(path, "numpy", kernel, store), ColumnChunk._page

    def page(chunk: ColumnChunk, begin: int) -> tuple[Page | None, int]:
        if next(calls) > read:
            raise NotRead
        return read_page(chunk, begin)

    monkeypatch.setattr(logs, "ROWS_A_BATCH", 16)
    monkeypatch.setattr(ColumnChunk, "_page", page)
    assert folded(path, "pages", kernel, store) == expected
    assert next(calls) > read + 1, "all pages were read"


def test_a_log_whose_dictionary_lacks_an_entry_is_unreadable(monkeypatch):
    lacking = pa.DictionaryArray.from_arrays(pa.array([6], pa.int32()), pa.array(["x"]), safe=False)
    columns = {"batch_id": lacking, "group_id": pa.array(["x"]), "index": pa.array([1])}
    portion = logs.portion(pa.record_batch(columns))
    monkeypatch.setattr(logs, "read", lambda *_: [portion])

    with pytest.raises(UnreadableLog, match="log cannot be read"):
        list(fold_files(["log"], STORE, TENANT))
