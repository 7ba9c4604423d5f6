"""Consumer of the tables' streams: stores each delivery of changes as one file of the archive."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from fanin.aws import clients
from fanin.change_archive import Archive
from fanin.change_archive.s3 import Bucket
from fanin.errors import InvalidRequest
from fanin.settings.archiving import ArchiveSettings
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


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    malformed = archive().keep(event["Records"])
    # Lambda retries from this record on, bisects the batch, and sends the record to its failure destination.
    return {"batchItemFailures": [] if malformed is None else [{"itemIdentifier": malformed}]}
