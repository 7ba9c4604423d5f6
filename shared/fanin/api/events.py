"""What the world hears of a batch: one event's detail, made from the row that the tracker wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fanin.api.instants import iso_of_millis


def completions(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The details of ``BatchCompleted``, one for each stream record that shows a complete batch, in order.

    *records*: DynamoDB stream records with new images. What the record says is what was stored; a record
    of anything else than a complete batch is passed over.
    """
    images = (record["dynamodb"].get("NewImage", {}) for record in records)
    return [_detail(image) for image in images if _is_complete(image)]


def _is_complete(image: Mapping[str, Any]) -> bool:
    return image.get("sk") == {"S": "batch"} and image.get("state") == {"S": "COMPLETE"}


def _detail(image: Mapping[str, Any]) -> dict[str, Any]:
    failed = int(image["failed"]["N"])
    return {
        "eventId": image["eventId"]["S"],
        "batchId": image["batchId"]["S"],
        "userKey": image.get("userKey", {}).get("S"),
        "result": "completed_with_failures" if failed else "succeeded",
        "total": int(image["total"]["N"]),
        "failed": failed,
        "openedAt": _time(image, "createdAt"),
        "closedAt": _time(image, "closedAt"),
        "completedAt": _time(image, "completedAt"),
    }


def _time(image: Mapping[str, Any], name: str) -> str:
    return iso_of_millis(int(image[name]["N"]))
