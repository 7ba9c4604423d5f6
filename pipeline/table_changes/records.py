"""Parses a line of the archive as a change: old image, new image and time. Pure.

The line is a stream record in DynamoDB JSON, as Lambda receives it or as Kinesis Data Streams for DynamoDB
writes it; the latter has no sequence number, and its time in milliseconds or finer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Image = Mapping[str, Mapping[str, Any]]
MILLISECONDS, MICROSECONDS = 1e11, 1e14
"""From these values on, a time since 1970 is in milliseconds, or in microseconds."""
_PLACE_DIGITS = 40


class MalformedLine(ValueError):
    """A line is not a stream record; the message says why."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of an item. *place* orders the changes of one item; an absent image is empty."""

    id: str
    place: str
    at: datetime
    keys: Image
    old: Image
    new: Image


def change_of(line: bytes) -> Change:
    """Return the change in *line*. Raises MalformedLine."""
    try:
        record = json.loads(line)
        body = record["dynamodb"]
        at = body["ApproximateCreationDateTime"]
        return Change(
            id=str(record["eventID"]),
            place=str(body.get("SequenceNumber", "")).rjust(_PLACE_DIGITS, "0"),
            at=time_of(float(at)),
            keys=body["Keys"],
            old=body.get("OldImage") or {},
            new=body.get("NewImage") or {},
        )
    except KeyError as error:
        raise MalformedLine(f"it lacks {error}") from error
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise MalformedLine(str(error)) from error


def time_of(at: float) -> datetime:
    """Return the time *at* since 1970, in seconds, milliseconds or microseconds by its magnitude."""
    if at >= MICROSECONDS:
        at /= 1e6
    elif at >= MILLISECONDS:
        at /= 1e3
    return datetime.fromtimestamp(at, UTC)
