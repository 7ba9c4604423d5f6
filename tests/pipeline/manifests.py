"""Manifests whose files are damaged on purpose."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow.parquet as pq


def damage_records(folder: Path, parts: Collection[int], columns: Collection[str] = ("record",)) -> None:
    """Overwrite *columns* in the files of *parts*; their footers stay."""
    for path in folder.glob("part-*"):
        groups = pq.read_metadata(path)
        content = bytearray(path.read_bytes())
        for group in map(groups.row_group, range(groups.num_row_groups)):
            if group.column(0).statistics.min in parts:
                _overwrite(content, group, columns)
        path.write_bytes(content)
        # Hadoop would compare it with the content.
        path.with_name(f".{path.name}.crc").unlink()


def _overwrite(content: bytearray, group: pq.RowGroupMetaData, columns: Collection[str]) -> None:
    for column in map(group.column, range(group.num_columns)):
        if column.path_in_schema.split(".")[0] in columns:
            first = column.dictionary_page_offset or column.data_page_offset
            content[first : first + column.total_compressed_size] = b"\xff" * column.total_compressed_size
