"""An object of S3, read in ranges as long as it is the one that was found first."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from botocore.exceptions import ClientError, IncompleteReadError

from fanin.aws.calls import send
from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.pacing import waits
from fanin.publishing.row_sources.formats import header_of, rows_of, title_of
from fanin.publishing.row_sources.source import NumberedRow, SourceChanged

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

RANGE_BYTES = 8 * 1024 * 1024
"""Bytes of a request, and in memory."""
ABSENT = {"404", "NoSuchKey", "NoSuchBucket"}
CHANGED = {*ABSENT, "PreconditionFailed", "412"}
"""Codes of an object that has another ETag, or is gone."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """The object *key* of a bucket, of *size* bytes, while its ETag is *etag*.

    *version*: its id in a bucket with versions.
    """

    client: S3Client
    bucket: str
    key: str
    size: int
    etag: str
    version: str = ""

    @classmethod
    def at(cls, client: S3Client, bucket: str, key: str) -> StoredObject:
        """Return the object as it is now. Raises InvalidRequest if there is none."""
        try:
            answer = send(client.head_object, {"Bucket": bucket, "Key": key})
        except ClientError as error:
            if error.response["Error"]["Code"] in ABSENT:
                text = f"there is no object s3://{bucket}/{key}; check the bucket and the key"
                raise InvalidRequest(text, field="file") from error
            raise
        version = answer.get("VersionId", "")
        return cls(client, bucket, key, answer["ContentLength"], answer["ETag"], version)

    @property
    def name(self) -> str:
        """Return its URI."""
        return f"s3://{self.bucket}/{self.key}"

    def open(self) -> BinaryIO:
        """Return the object as a file, which reads a range at a time."""
        return _Buffered(_Ranges(self), RANGE_BYTES)

    def read(self, first: int, last: int, sleep: Callable[[float], None] = time.sleep) -> bytes:
        """Return the bytes *first* to *last*, both inclusive. Raises SourceChanged, StoreUnavailable."""
        failure = StoreUnavailable(f"{self.name} cannot be read")
        for pause in waits(random.Random()):
            try:
                return cast("bytes", send(self._range, {"Range": f"bytes={first}-{last}"})["body"])
            except (StoreUnavailable, IncompleteReadError) as error:
                failure.__cause__ = error
            except ClientError as error:
                if error.response["Error"]["Code"] in CHANGED:
                    raise SourceChanged(f"{self.name} was changed or deleted while it was read") from error
                raise
            sleep(pause)
        raise failure

    def _range(self, **wanted: Any) -> dict[str, Any]:
        answer = self.client.get_object(Bucket=self.bucket, Key=self.key, IfMatch=self.etag, **wanted)
        return {"body": answer["Body"].read()}


class _Ranges(io.RawIOBase):
    """An object as a file without a buffer."""

    def __init__(self, stored: StoredObject) -> None:
        self._stored, self._at = stored, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._stored.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        last = min(self._at + min(len(buffer), RANGE_BYTES), self._stored.size) - 1
        if last < self._at:
            return 0
        content = self._stored.read(self._at, last)
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)


class _Buffered(io.BufferedReader):
    """Reads a range for each part that a decoder of text takes from it, and not only that part."""

    def read1(self, size: int = -1, /) -> bytes:
        return self.read(size)


@dataclass(frozen=True, slots=True)
class ObjectSource:
    """The rows of an object."""

    stored: StoredObject
    is_kept: bool = True

    @property
    def name(self) -> str:
        """Return its URI."""
        return self.stored.name

    @property
    def title(self) -> str:
        """Return the last part of its key, without suffix."""
        return title_of(self.stored.key)

    def rows(self) -> Iterator[NumberedRow]:
        """Yield the rows. Raises UnreadableRow, InvalidRequest, and SourceChanged."""
        with self.stored.open() as file:
            yield from rows_of(self.name, file)

    def header(self) -> list[str]:
        """Return the names in the header line of CSV."""
        with self.stored.open() as file:
            return header_of(self.name, file)
