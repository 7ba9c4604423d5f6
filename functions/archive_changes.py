"""Consumer of the tables' streams: stores each delivery of changes as one file of the archive."""

from typing import Any

from functions.wiring import archiving


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    malformed = archiving.archive().keep(event["Records"])
    # Lambda retries from this record on, bisects the batch, and sends the record to its failure destination.
    return {"batchItemFailures": [] if malformed is None else [{"itemIdentifier": malformed}]}
