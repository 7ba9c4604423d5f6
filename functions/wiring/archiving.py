"""What the archive's handler is made of, built once a process and when first needed."""

from __future__ import annotations

from functools import lru_cache

from fanin.archive import Archive
from fanin.archive.s3 import Bucket
from fanin.aws import clients
from fanin.aws.archiving import ArchiveSettings
from fanin.errors import InvalidRequest


@lru_cache(maxsize=1)
def archive() -> Archive:
    """The archive in the bucket that the environment names, which is read once."""
    try:
        told = ArchiveSettings.from_env()
    except InvalidRequest as error:
        raise RuntimeError(str(error)) from error
    kinds = {table: kind for kind, table in told.tables.items()}
    return Archive(Bucket(clients.s3(), told.bucket), kinds)
