"""Reads a point-in-time export of a table, as DynamoDB writes it to S3.

Layout and fields: "DynamoDB table export output format" in the DynamoDB developer guide. An export is a
folder with ``manifest-summary.json``, ``manifest-files.json`` (a JSON object a line, one for each data file)
and ``data/*.json.gz`` (``{"Item": {...}}`` a line). A copy of that folder can be read too.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyarrow.lib import ArrowException

from pipeline.shared_by_jobs import files
from pipeline.table_frames.rows import Item, MalformedRow, from_json

SUMMARY = "manifest-summary.json"
FILES = "manifest-files.json"


class NotAnExport(ValueError):
    """The folder does not hold a complete export in a supported format."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of an export; *items*: its number of rows by the export's manifest."""

    path: str
    items: int


@dataclass(frozen=True, slots=True)
class Export:
    """An export by its manifests; *taken_at*: the time of the state that it holds."""

    table: str
    taken_at: datetime
    files: tuple[DataFile, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a data file and its *location*, or a *problem* in place of the row."""

    location: str
    item: Item | None
    problem: str | None = None


def describe(root: str) -> Export:
    """Return the export in the folder *root*, a path or an ``s3://`` URI. Raises NotAnExport."""
    root = files.whole(root)
    summary = _objects(f"{root}/{SUMMARY}")
    if len(summary) != 1:
        raise NotAnExport(f"{root}/{SUMMARY} is not one JSON object")
    try:
        return _described(root, summary[0], _objects(f"{root}/{FILES}"))
    except (KeyError, TypeError, AttributeError) as error:
        raise NotAnExport(f"{root}: its manifests lack {error}") from error


def lines(file: DataFile, about: str | None = None) -> Iterator[Line]:
    """Yield the rows of *file*, or those that contain *about*; and a problem if rows are missing."""
    wanted, count = (about or "").encode(), 0
    with _opened(file.path) as stream:
        for count, raw in enumerate(io.BufferedReader(stream), start=1):
            if wanted in raw:
                yield _line(f"{file.path}:{count}", raw)
    if count != file.items:
        yield Line(file.path, None, f"it holds {count} rows; the export's manifest says {file.items}")


def _line(location: str, raw: bytes) -> Line:
    try:
        return Line(location, from_json(_item(json.loads(raw))))
    except (ValueError, TypeError, AttributeError) as error:
        return Line(location, None, f"it is not a row of an export: {error}")


def _item(row: Any) -> Item:
    if not isinstance(row, dict) or list(row) != ["Item"] or not isinstance(row["Item"], dict):
        raise MalformedRow('it is not {"Item": {...}}')
    item: Item = row["Item"]
    return item


def _described(root: str, summary: dict[str, Any], named: list[dict[str, Any]]) -> Export:
    kind = summary["outputFormat"], summary.get("exportType") or "FULL_EXPORT"
    if kind != ("DYNAMODB_JSON", "FULL_EXPORT"):
        raise NotAnExport(f"{root} is {' '.join(kind)}; expected a full export in the format DYNAMODB_JSON")
    found = tuple(DataFile(f"{root}/data/{_name(f['dataFileS3Key'])}", f["itemCount"]) for f in named)
    promised = sum(file.items for file in found)
    if promised != summary["itemCount"]:
        raise NotAnExport(f"{root}: {FILES} names {promised} rows, {SUMMARY} {summary['itemCount']}")
    table = summary["tableArn"].rpartition("/")[2]
    return Export(table, datetime.fromisoformat(summary["exportTime"]), found)


def _name(key: str) -> str:
    return key.rpartition("/")[2]


def _objects(path: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a manifest, one per line, or one over several lines."""
    try:
        with _opened(path) as stream:
            text = stream.read().decode()
    except (OSError, ArrowException, ValueError) as error:
        raise NotAnExport(f"{path} cannot be read (is the export complete?): {error}") from error
    decoder, found, at = json.JSONDecoder(), [], 0
    text = text.strip()
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError as error:
            raise NotAnExport(f"{path} is not JSON: {error}") from error
        found.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def _opened(path: str) -> Any:
    """Return a stream of the bytes of *path*, decompressed by its suffix."""
    system, inner = files.located(path)
    return system.open_input_stream(inner)
