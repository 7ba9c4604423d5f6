"""The stream of the batches table after a crash: it sends the events that were not put at once."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from typing import Any

from fanin.tracker.dynamodb.items import BATCH_ROW, key_of
from functions import publish_endings
from functions.wiring import tracking
from tests.crashes.account import Account


def carry(account: Account) -> None:
    """Send the event of each ended batch as the stream does, and record its arrival, but ack no parent."""
    ended = [row for name, row in account.rows() if name == "Batches" and _has_ended(row)]
    _check_announced(account, {row["eventId"]["S"] for row in ended})
    for row in ended:
        keys = {name: row[name] for name in ("pk", "sk")}
        record = {"eventName": "MODIFY", "dynamodb": {"Keys": keys, "NewImage": row}}
        with redirect_stdout(io.StringIO()):  # metrics
            publish_endings.handler({"Records": [record]}, None)
        if row["eventId"]["S"] in _announced(account):
            batch = tracking.tracker().store.get(key_of(row["pk"]["S"]))
            assert batch is not None
            tracking.tracker().store.confirm(batch.key, batch.expires_at)


def _has_ended(row: dict[str, Any]) -> bool:
    return row["sk"] == {"S": BATCH_ROW} and "eventId" in row


def _check_announced(account: Account, ended: set[str]) -> None:
    """Raise AssertionError for a completion on the bus that is not decided in the table."""
    early = _announced(account) - ended
    assert not early, f"on the bus and not decided: {early}"


def _announced(account: Account) -> set[str]:
    """Return the ids of the events of batches that are on the bus."""
    announced = [each for each in account.outside.events if each["DetailType"].startswith("Batch")]
    return {json.loads(each["Detail"])["eventId"] for each in announced}
