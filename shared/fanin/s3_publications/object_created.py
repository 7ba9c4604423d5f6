"""The event of S3 about an object that was created. Pure."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from fanin.errors import InvalidRequest
from fanin.s3_publications.model import Order, Position

ETAG = re.compile("[!#-~]{1,256}")
"""An entity tag of HTTP, without its quotes, as the event has it."""


@dataclass(frozen=True, slots=True)
class Created:
    """The object *source* as it was created: its ETag without quotes, its size, and its version if any."""

    source: str
    etag: str
    size: int
    version: str = ""

    def __post_init__(self) -> None:
        if not all(isinstance(each, str) for each in (self.source, self.etag, self.version)):
            raise InvalidRequest("etag and version-id of an object are texts")
        if not ETAG.fullmatch(self.etag):
            raise InvalidRequest("the etag of an object has no quotes")
        if type(self.size) is not int or self.size < 0:
            raise InvalidRequest("the size of an object is a number of bytes")

    @property
    def position(self) -> Position:
        """Return the first position of its publication."""
        return Position(size=self.size, etag=f'"{self.etag}"')

    def key(self, order: Order) -> str:
        """Return the idempotency key of its publication by *order*."""
        facts = (self.source, order.queue, self.version, self.etag, str(self.size))
        return f"created-{hashlib.sha256(chr(10).join(facts).encode()).hexdigest()}"


def created_object(given: Any) -> Created:
    """Return the object in an ``Object Created`` event of S3. Raises InvalidRequest for another event."""
    try:
        detail = given["detail"]
        kind, bucket, found = given["detail-type"], detail["bucket"]["name"], detail["object"]
        key, size = found["key"], found["size"]
        etag = found["etag" if "etag" in found else "eTag"]  # the second is that of the local run
    except (KeyError, TypeError) as error:
        raise InvalidRequest(f"the message is no event of S3: {error!r}") from error
    if given.get("source") != "aws.s3" or kind != "Object Created":
        raise InvalidRequest("the message is no event of an object that was created")
    if not isinstance(bucket, str) or not isinstance(key, str):
        raise InvalidRequest("the names of a bucket and a key are texts")
    return Created(f"s3://{bucket}/{key}", etag, size, found.get("version-id") or "")
