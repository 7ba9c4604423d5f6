"""How the tracker's values are written as DynamoDB items, and read back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from fanin.tracker.model import Batch, Group, PageKey, Receipt, Retention, State
from fanin.tracker.page import Page, bits_of

Item = dict[str, Any]
SECOND = timedelta(seconds=1)
MILLISECOND = timedelta(milliseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BATCH_ROW = "batch"


def number(value: int) -> Item:
    return {"N": str(value)}


def text(value: str) -> Item:
    return {"S": value}


def milliseconds(at: datetime) -> int:
    return (at - EPOCH) // MILLISECOND


def seconds(at: datetime) -> int:
    return (at - EPOCH) // SECOND


def receipt_row(key: str) -> str:
    """The sort key of the reservation made under an idempotency key (its hash)."""
    return f"add#{key}"


def batch_item(batch: Batch) -> Item:
    """The row of a batch that was just opened."""
    kept = batch.retention
    item = {
        "pk": text(str(batch.key)),
        "sk": text(BATCH_ROW),
        "tenant": text(batch.tenant),
        "batchId": text(batch.batch_id),
        "state": text(batch.state),
        "mode": text(batch.mode),
        "total": number(batch.total),
        "failed": number(batch.failed),
        "pageBits": number(batch.page_bits),
        "salt": {"B": batch.salt},
        "fingerprint": text(batch.fingerprint),
        "retainOpen": number(kept.open // SECOND),
        "retainClosed": number(kept.closed // SECOND),
        "retainComplete": number(kept.complete // SECOND),
        "createdAt": number(milliseconds(batch.created_at)),
        "expiresAt": number(milliseconds(batch.expires_at)),
        "ttl": number(seconds(batch.expires_at)),
    }
    return item if batch.user_key is None else {**item, "userKey": text(batch.user_key)}


def batch_of(item: Item) -> Batch:
    """The batch that a row describes."""
    return Batch(
        tenant=item["tenant"]["S"],
        batch_id=item["batchId"]["S"],
        state=State(item["state"]["S"]),
        mode=item["mode"]["S"],
        user_key=item.get("userKey", {}).get("S"),
        total=int(item["total"]["N"]),
        failed=int(item["failed"]["N"]),
        page_bits=int(item["pageBits"]["N"]),
        salt=bytes(item["salt"]["B"]),
        fingerprint=item["fingerprint"]["S"],
        retention=_retention(item),
        created_at=_time(item, "createdAt"),
        expires_at=_time(item, "expiresAt"),
        closed_at=_time(item, "closedAt") if "closedAt" in item else None,
        completed_at=_time(item, "completedAt") if "completedAt" in item else None,
        completed_by=item.get("completedBy", {}).get("S"),
    )


def receipt_item(batch: Batch, receipt: Receipt) -> Item:
    return {
        "pk": text(str(batch.key)),
        "sk": text(receipt_row(receipt.key)),
        "start": number(receipt.start),
        "count": number(receipt.count),
        "ttl": number(seconds(batch.pages_expire_at)),
    }


def receipt_of(key: str, item: Item) -> Receipt:
    return Receipt(key, int(item["start"]["N"]), int(item["count"]["N"]))


def group_item(batch: Batch, start: int, group: Group) -> Item:
    """The row that maps a stretch of the index space back to its group; rows sort by start."""
    return {
        "pk": text(str(batch.key)),
        "sk": text(f"group#{start:013d}"),
        "groupId": text(group.id),
        "start": number(start),
        "upto": number(group.upto),
        "ttl": number(seconds(batch.pages_expire_at)),
    }


def page_key(key: PageKey) -> Item:
    return {"pk": text(str(key))}


def page_of(item: Item | None) -> Page:
    """The page that a row describes; no row is a page on which nothing was acked."""
    if not item:
        return Page()
    stored = ((int(name[1:]), int(value["N"])) for name, value in item.items() if _is_digit(name))
    return Page(
        bits=bits_of(stored),
        n=int(item["n"]["N"]) if "n" in item else 0,
        size=int(item["size"]["N"]) if "size" in item else None,
        root=item.get("root", {}).get("BOOL", False),
        compacted="compacted" in item,
    )


def _is_digit(name: str) -> bool:
    return name[0] == "d" and name[1:].isdigit()


def _time(item: Item, name: str) -> datetime:
    return EPOCH + int(item[name]["N"]) * MILLISECOND


def _retention(item: Item) -> Retention:
    stages = (int(item[name]["N"]) * SECOND for name in ("retainOpen", "retainClosed", "retainComplete"))
    return Retention(*stages)
