"""The JSON of the routes that repair batches."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fanin.client.items import Items
from fanin.client.model import Deleted, Pairs
from fanin.client.wire.documents import Document
from fanin.tracker.writing.reopening import ReopenBatch

SECOND = timedelta(seconds=1)


def reopen_body(request: ReopenBatch) -> Document:
    """Return the body of reopen, with the options that are given."""
    given = {
        "items": str(request.items),
        "userKey": request.user_key,
        "labels": request.labels,
        "deadlineSeconds": request.deadline and request.deadline // SECOND,
        "maxFailures": request.max_failures,
    }
    return {name: value for name, value in given.items() if value is not None}


def pairs_of(batch_id: str, answer: Document) -> Pairs:
    origin = answer["originBatchId"]
    pairs = ((_items(origin, one["origin"]), _items(batch_id, one["item"])) for one in answer["pairs"])
    return Pairs(tuple(pairs), answer.get("cursor"))


def deleted_of(answer: Document) -> Deleted:
    return Deleted(answer["deleted"], answer["unconfirmed"], answer.get("cursor"))


def _items(batch_id: str, part: dict[str, Any]) -> Items:
    return Items.between(batch_id, part["groupId"], part["from"], part["to"])
