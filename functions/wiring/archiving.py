"""Builds the archive for its handler, once in each process and at its first use."""

from __future__ import annotations

from functools import lru_cache

from fanin.archive import Archive
from fanin.archive.s3 import Bucket
from fanin.aws import clients
from fanin.aws.settings.archiving import ArchiveSettings
from fanin.errors import InvalidRequest
from functions.wiring.starting import at_start


@lru_cache(maxsize=1)
def archive() -> Archive:
    """Return the archive in the bucket that the environment names. Raises RuntimeError."""
    try:
        settings = ArchiveSettings.from_env()
    except InvalidRequest as error:
        raise RuntimeError(str(error)) from error
    kinds = {table: kind for kind, table in settings.tables.items()}
    return Archive(Bucket(clients.s3(), settings.bucket), kinds)


at_start(clients.s3)
