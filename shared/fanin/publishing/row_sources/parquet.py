"""Reads Parquet, one row group after another, where pyarrow is installed."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, BinaryIO

from fanin.errors import InvalidRequest
from fanin.publishing.row_sources.lines import sendable
from fanin.publishing.row_sources.source import NumberedRow, unreadable

ROWS_AT_A_TIME = 1_000


def parquet_rows(name: str, file: BinaryIO) -> Iterator[NumberedRow]:
    """Yield an object for each row: times in ISO 8601, decimals as texts, binary values in base64."""
    for number, record in enumerate(parquet_records(name, file), 1):
        try:
            text = json.dumps(record, ensure_ascii=False, allow_nan=False, default=_json_value)
        except (TypeError, ValueError) as error:
            raise unreadable(name, number, f"it is no JSON value ({error})") from error
        yield number, sendable(text)


def parquet_records(name: str, file: BinaryIO) -> Iterator[dict[str, Any]]:
    """Yield the rows of *file*. Raises InvalidRequest if it is not Parquet, or pyarrow is missing."""
    try:
        import pyarrow  # noqa: PLC0415  # of an extra
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415  # of an extra, and takes 0.2 s
    except ImportError:
        raise InvalidRequest(f"{name}: Parquet needs pyarrow: pip install pyarrow", field="file") from None
    try:
        for part in ParquetFile(file).iter_batches(ROWS_AT_A_TIME, use_threads=False):
            yield from part.to_pylist()
    except pyarrow.ArrowInvalid as error:
        raise InvalidRequest(f"{name} is not Parquet: {error}", field="file") from error


def _json_value(value: Any) -> Any:
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} has no form in JSON")
