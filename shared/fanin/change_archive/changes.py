"""The archive's files: stream records as gzipped JSON lines, under names with their table and hour. Pure.

A line is a record as Lambda receives it from DynamoDB streams, with two changes. Attributes that are secret,
or that users wrote and no analysis reads, are removed from both images. The images of a page, which differ
in the acked digits only, have only the attributes that differ, and ``n``: a tenth of the bytes.

    changes/table=pages/date=2026-01-02/hour=13/<first>-<last>-<eventID of the first>.jsonl.gz

First and last are sequence numbers. A delivery that is repeated overwrites its file. A delivery that is
repeated in other parts has other files, so that readers may find a record twice, with the same ``eventID``.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fanin.errors import InvalidRequest

Record = dict[str, Any]
Image = dict[str, Any]

PAGES, BATCHES, TASKS, BUNDLES, JOBS = "pages", "batches", "tasks", "bundles", "jobs"
KINDS = (PAGES, BATCHES, TASKS, BUNDLES, JOBS)
"""The kinds of rows; each has its own folder."""
WITHHELD = frozenset({"salt", "payload", "rerun_payload", "taskToken"})
"""Attributes that are never archived: the secrets of a batch, and the payloads of tasks and jobs."""
ROOT = "changes"

_IMAGES = ("OldImage", "NewImage")
_NAMES = frozenset({"INSERT", "MODIFY", "REMOVE"})
_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_SEQUENCE = re.compile(r"[0-9]{1,40}")
_STREAM = re.compile(r"arn:[a-z-]+:dynamodb:[a-z0-9-]+:[0-9]{12}:table/([A-Za-z0-9_.-]{3,255})/stream/\S+")


@dataclass(frozen=True, slots=True)
class Change:
    """One record of a stream, without its withheld attributes."""

    id: str
    sequence: str
    at: datetime
    record: Record


def table_of(record: Record) -> str:
    """Return the name of the table whose stream *record* is from. Raises InvalidRequest."""
    found = _STREAM.fullmatch(str(record.get("eventSourceARN")))
    if not found:
        raise InvalidRequest("a stream record names the ARN of its stream", field="eventSourceARN")
    return found[1]


def sequence_of(record: Record) -> str:
    """Return the sequence number of *record*. Raises InvalidRequest."""
    return _text(_body(record), "SequenceNumber", _SEQUENCE)


def change_of(record: Record, kind: str) -> Change:
    """Return *record*, of a table of *kind*, in its archived form. Raises InvalidRequest."""
    body = _body(record)
    if record.get("eventName") not in _NAMES:
        raise InvalidRequest("a stream record is an INSERT, a MODIFY or a REMOVE", field="eventName")
    images = {name: _image(body, name) for name in _IMAGES if name in body}
    images = {name: _without(image, WITHHELD) for name, image in images.items()}
    kept = {**record, "dynamodb": {**body, **(differing(images) if kind == PAGES else images)}}
    return Change(_text(record, "eventID", _ID), sequence_of(record), _time(body), kept)


def differing(images: Mapping[str, Image]) -> dict[str, Image]:
    """Return the images of a page without equal attributes, but with ``n``, its number of set bits."""
    old, new = (images.get(name, {}) for name in _IMAGES)
    alike = {name for name, value in old.items() if new.get(name) == value} - {"n"}
    return {name: _without(image, alike) for name, image in images.items()}


def file_of(kind: str, changes: Sequence[Change]) -> tuple[str, bytes]:
    """Return the name and the bytes of the file of *changes*, at least one; equal for equal changes."""
    first, last = changes[0], changes[-1]
    folder = f"{ROOT}/table={kind}/date={first.at:%Y-%m-%d}/hour={first.at:%H}"
    lines = (json.dumps(change.record, separators=(",", ":")) + "\n" for change in changes)
    name = f"{folder}/{first.sequence}-{last.sequence}-{first.id}.jsonl.gz"
    return name, gzip.compress("".join(lines).encode(), compresslevel=6, mtime=0)


def _body(record: Record) -> Record:
    body = record.get("dynamodb")
    if not isinstance(body, dict) or not isinstance(body.get("Keys"), dict):
        raise InvalidRequest("a stream record has a change with the keys of its item", field="dynamodb")
    return body


def _image(body: Record, name: str) -> Image:
    image = body[name]
    if not isinstance(image, dict):
        raise InvalidRequest("an image is an object of attributes", field=name)
    return image


def _without(image: Image, names: frozenset[str] | set[str]) -> Image:
    return {name: value for name, value in image.items() if name not in names}


def _text(holder: Record, name: str, form: re.Pattern[str]) -> str:
    value = holder.get(name)
    if not isinstance(value, str) or not form.fullmatch(value):
        raise InvalidRequest(f"a stream record has {name} as text", field=name)
    return value


def _time(body: Record) -> datetime:
    value = body.get("ApproximateCreationDateTime")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e11:
        raise InvalidRequest("a change has its time in seconds", field="ApproximateCreationDateTime")
    return datetime.fromtimestamp(value, UTC)
