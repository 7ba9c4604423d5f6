"""The source of a name: a path, or the URI of an object or a prefix of S3."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fanin.errors import InvalidRequest
from fanin.publishing.row_sources.files import FileSource
from fanin.publishing.row_sources.formats import check_suffix
from fanin.publishing.row_sources.source import Source

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

S3 = "s3://"


def source_of(name: str, client: Callable[[], S3Client]) -> Source:
    """Return the source *name*: a file, ``s3://BUCKET/KEY``, or ``s3://BUCKET/PREFIX/``.

    *client*: returns the client of S3. Raises InvalidRequest if it is not there, or of no format.
    """
    if not name.startswith(S3):
        file = FileSource(Path(name))
        file.check()
        return file
    bucket, slash, key = name.removeprefix(S3).partition("/")
    if not bucket or not slash:
        raise InvalidRequest(f"{name} is not s3://BUCKET/KEY, nor s3://BUCKET/PREFIX/", field="file")
    return _stored(client(), bucket, key)


def _stored(client: S3Client, bucket: str, key: str) -> Source:
    from fanin.publishing.row_sources.listings import MANIFEST, InventorySource, PrefixSource  # noqa: PLC0415  # see objects
    from fanin.publishing.row_sources.objects import ObjectSource, StoredObject  # noqa: PLC0415  # botocore takes 0.2 s

    if not key or key.endswith("/"):
        return PrefixSource(client, bucket, key)
    if key.rpartition("/")[2] == MANIFEST:
        return InventorySource(StoredObject.at(client, bucket, key))
    check_suffix(f"{S3}{bucket}/{key}")
    return ObjectSource(StoredObject.at(client, bucket, key))
