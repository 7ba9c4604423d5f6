"""Convert the tracker's values to DynamoDB items and back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from fanin.aws.dynamodb.rows import Item, number, text
from fanin.aws.dynamodb.schema import Schema
from fanin.tracker.dynamodb.packing import packed, unpacked
from fanin.tracker.rules.children import Children
from fanin.tracker.rules.model import (
    Batch,
    BatchKey,
    Group,
    ItemKey,
    PageKey,
    Position,
    Receipt,
    Sample,
    State,
    shard_of,
)
from fanin.tracker.rules.option_kinds import (
    SECOND,
    Choice,
    Dollars,
    Duration,
    Flag,
    ItemName,
    Kind,
    Labels,
    Several,
    Text,
    Whole,
)
from fanin.tracker.rules.options import SHOWN, BatchOptions, OnFailures, Retention, TaskToken, TokenKind
from fanin.tracker.rules.page import DIGIT_BITS, PAGE_BITS_MAX, Page, digits, mask_of

MILLISECOND = timedelta(milliseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BATCH_ROW = "batch"
EVENT_ROW = "event"
PUT = "isPut"
"""An attribute of the event's row while a process says that the bus has the event, and the bus not yet."""
TOKEN_ROW = "token"  # noqa: S105  # a sort key
KEY_ROW = "key"
CHILDREN_ROW = "children#{:013d}"
ORIGIN_ROW = "origin"
SCHEMA = Schema(newest=1)
"""A batch's row governs the other rows of the batch and its pages: it is read before any of them is written,
and its version never changes.
"""


def milliseconds(at: datetime) -> int:
    return (at - EPOCH) // MILLISECOND


def seconds(at: datetime) -> int:
    """Return *at* rounded up to a whole second, so that TTL deletes no row early."""
    return -((EPOCH - at) // SECOND)


def elapsed_seconds(at: datetime) -> int:
    """Return *at* rounded down to a whole second: a row has expired if its ``ttl`` is not later."""
    return (at - EPOCH) // SECOND


def receipt_row(key: str) -> str:
    """Return the sort key of the reservation made under an idempotency key (its hash)."""
    return f"add#{key}"


def batch_item(batch: Batch) -> Item:
    """Return the row of a new batch."""
    item = {
        "pk": text(str(batch.key)),
        "sk": text(BATCH_ROW),
        "tenant": text(batch.tenant),
        "batchId": text(batch.batch_id),
        "state": text(batch.state),
        "total": number(batch.total),
        "failed": number(batch.failed),
        "pageBits": number(batch.page_bits),
        "salt": {"B": batch.salt},
        "fingerprint": text(batch.fingerprint),
        "createdAt": number(milliseconds(batch.created_at)),
        "createdKey": text(created_key(batch.created_at, batch.batch_id)),
        "tenantShard": text(f"{batch.tenant}#{shard_of(batch.batch_id)}"),
        "expiresAt": number(milliseconds(batch.expires_at)),
        "ttl": number(seconds(batch.row_expires_at)),
    }
    return item | _options_item(batch) | _indexes(batch)


ATTRIBUTES: Mapping[type[Kind], tuple[Callable[[Any], Item], Callable[[Any, Item], Any]]] = {
    Text: (text, lambda _, stored: stored["S"]),
    ItemName: (text, lambda _, stored: stored["S"]),
    Choice: (text, lambda kind, stored: kind.of(stored["S"])),
    Whole: (number, lambda _, stored: int(stored["N"])),
    Dollars: (lambda dollars: {"N": f"{dollars:.6f}"}, lambda _, stored: float(stored["N"])),
    Flag: (lambda flag: {"BOOL": flag}, lambda _, stored: bool(stored["BOOL"])),
    Duration: (lambda time: number(time // SECOND), lambda _, stored: int(stored["N"]) * SECOND),
    Labels: (
        lambda labels: {"M": {key: text(value) for key, value in labels.items()}},
        lambda _, stored: {key: value["S"] for key, value in stored["M"].items()},
    ),
    Several: (
        lambda texts: {"L": [text(each) for each in texts]},
        lambda kind, stored: tuple(kind.of(each["S"]) for each in stored["L"]),
    ),
}
"""How an option is stored, and how it is read, by its kind."""


def _options_item(options: BatchOptions) -> Item:
    """Return the attributes of a batch's options; :func:`_options_of` reads them."""
    kept = options.retention
    stages = {"retainOpen": kept.open, "retainClosed": kept.closed, "retainComplete": kept.complete}
    given = [(option, getattr(options, option.name)) for option in SHOWN]
    return {name: number(time // SECOND) for name, time in stages.items()} | {
        option.attribute: ATTRIBUTES[type(option.kind)][0](value)
        for option, value in given
        if option.name == "mode" or value != option.default
    }


def _options_of(item: Item) -> dict[str, Any]:
    """Return the options that the row of a batch holds, by their names in the model."""
    stored = [option for option in SHOWN if option.attribute in item or option.name == "mode"]
    return {"retention": _retention(item)} | {
        option.name: ATTRIBUTES[type(option.kind)][1](option.kind, item[option.attribute])
        for option in stored
    }


def _indexes(batch: Batch) -> Item:
    """Return the attributes that only some batches have: times, the origin, and keys of sparse indexes."""
    attributes = {
        "tenantUser": batch.user_key and text(user_list(batch.tenant, batch.user_key)),
        "deadlineAt": batch.deadline_at and number(milliseconds(batch.deadline_at)),
        "closedAt": batch.closed_at and number(milliseconds(batch.closed_at)),
        "originBatchId": batch.origin_batch_id and text(batch.origin_batch_id),
        "dueAt": batch.next_check_at and number(milliseconds(batch.next_check_at)),
        "dueShard": batch.next_check_at and text(due_list(shard_of(batch.batch_id), batch.is_alive)),
        "resumes": {"BOOL": True} if batch.resumes else None,
        "liveShard": batch.is_alive and text(live_list(shard_of(batch.batch_id))),
    }
    return {name: value for name, value in attributes.items() if value}


def user_list(tenant: str, user_key: str) -> str:
    """Return the index key of a tenant's user key; the length keeps tenants apart, whatever their names."""
    return f"{len(tenant)}#{tenant}#{user_key}"


def created_key(at: datetime, batch_id: str) -> str:
    """Return the sort key of lists: the time of opening, then the id."""
    return f"{milliseconds(at):013d}#{batch_id}"


def bound(at: datetime) -> str:
    """Return the sort key before the lists' rows of the first whole millisecond from *at* on."""
    return f"{-((EPOCH - at) // MILLISECOND):013d}"


def last_before(position: Position) -> str:
    """Return the last sort key before that of a position."""
    at, batch_id = position
    number = UUID(batch_id).int if batch_id else 0
    return created_key(at, str(UUID(int=number - 1))) if number else f"{milliseconds(at):013d}"


def position_of(key: str) -> Position:
    """Return the position in a list: the inverse of :func:`created_key`."""
    at, batch_id = key.split("#")
    return EPOCH + int(at) * MILLISECOND, batch_id


def due_list(shard: int, alive: bool) -> str:
    """Return the list of a shard's batches to check: ended batches are in another list than live ones."""
    return str(shard) if alive else f"{shard}#ended"


def live_list(shard: int) -> str:
    """Return the list of the live batches of a shard."""
    return str(shard)


def key_of(pk: str) -> BatchKey:
    """Return the key of the batch whose rows have this partition key."""
    tenant, batch_id = pk.rsplit("#", 1)
    return BatchKey(tenant, batch_id)


def batch_of(item: Item) -> Batch:
    """Return the batch of a row. Raises NewerSchema."""
    item = SCHEMA.checked("batch", item)
    return Batch(
        tenant=item["tenant"]["S"],
        batch_id=item["batchId"]["S"],
        state=State(item["state"]["S"]),
        total=int(item["total"]["N"]),
        failed=int(item["failed"]["N"]),
        page_bits=int(item["pageBits"]["N"]),
        salt=bytes(item["salt"]["B"]),
        fingerprint=item["fingerprint"]["S"],
        created_at=_time(item, "createdAt"),
        expires_at=_time(item, "expiresAt"),
        closed_at=_time_if(item, "closedAt"),
        deadline_at=_time_if(item, "deadlineAt"),
        next_check_at=_time_if(item, "dueAt"),
        healed=_number_if(item, "healed") or 0,
        origin_batch_id=item.get("originBatchId", {}).get("S"),
        resumes="resumes" in item,
        **_end_of(item),
        **_watched_of(item),
        **_options_of(item),
    )


def _end_of(item: Item) -> dict[str, Any]:
    """Return what the row of a batch that has ended has of its end, by their names in the model."""
    return {
        "completed_at": _time_if(item, "completedAt"),
        "completed_by": item.get("completedBy", {}).get("S"),
        "ended_at": _time_if(item, "endedAt"),
        "end_reason": item.get("endReason", {}).get("S"),
        "ended_by": item.get("endedBy", {}).get("S"),
        "deleted_at": _time_if(item, "deletedAt"),
        "cancels_children": "cancelsChildren" in item,
        "reached": _number_if(item, "reached"),
    }


def _watched_of(item: Item) -> dict[str, Any]:
    """Return what the row of a batch that asks for thresholds has of them, by their names in the model."""
    return {
        "reported": frozenset(item.get("reported", {}).get("SS", ())),
        "acked_at": _time_if(item, "ackedAt"),
        "stalls": _number_if(item, "stalls") or 0,
        "stalled_at": _time_if(item, "stalledAt"),
    }


def token_item(batch: Batch, token: TaskToken) -> Item:
    """Return the row of a batch's task token, which no reader of batches reads."""
    return token_key(batch.key) | {
        token.kind: text(token.text),
        "onFailures": text(token.on_failures),
        "ttl": number(seconds(batch.row_expires_at)),
    }


def children_key(item: ItemKey) -> Item:
    return {"pk": text(str(item.batch)), "sk": text(CHILDREN_ROW.format(item.position))}


def children_of(item: Item) -> Children:
    return Children(*(frozenset(item.get(name, {}).get("SS", ())) for name in ("live", "failed", "done")))


def position_of_children(item: Item) -> int:
    """Return the position of the item whose children a row holds."""
    return int(item["sk"]["S"].rpartition("#")[2])


def event_key(key: BatchKey) -> Item:
    return {"pk": text(str(key)), "sk": text(EVENT_ROW)}


def token_key(key: BatchKey) -> Item:
    return {"pk": text(str(key)), "sk": text(TOKEN_ROW)}


def token_of(item: Item) -> TaskToken:
    kind = next(kind for kind in TokenKind if kind in item)
    return TaskToken(item[kind]["S"], OnFailures(item["onFailures"]["S"]), kind)


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
    """Return the row that maps a stretch of the index space to its group; rows sort by start."""
    return {
        "pk": text(str(batch.key)),
        "sk": text(f"group#{start:013d}"),
        "groupId": text(group.id),
        "start": number(start),
        "upto": number(group.upto),
        "ttl": number(seconds(batch.pages_expire_at)),
    }


def group_of(item: Item) -> tuple[int, Group]:
    return int(item["start"]["N"]), Group(item["groupId"]["S"], int(item["upto"]["N"]))


def origin_item(batch: Batch, ranges: Sequence[tuple[int, int]]) -> Item:
    """Return the row with the items of a reopened batch's origin."""
    return {
        "pk": text(str(batch.key)),
        "sk": text(ORIGIN_ROW),
        "ranges": {"B": packed(ranges)},
        "ttl": number(seconds(batch.pages_expire_at)),
    }


def origin_of(item: Item) -> tuple[tuple[int, int], ...]:
    return unpacked(bytes(item["ranges"]["B"]))


def sample_item(batch: BatchKey, slot: int, sample: Sample, expires_at: datetime) -> Item:
    return sample_key(batch, slot) | {
        "itemId": text(sample.item_id),
        "reason": text(sample.reason),
        "at": number(milliseconds(sample.at)),
        "ttl": number(seconds(expires_at)),
    }


def blocked_sample_item(batch: BatchKey, slot: int, expires_at: datetime) -> Item:
    """Return the row of a slot that is blocked: it replaces a reason, and refuses a delayed copy of one."""
    return sample_key(batch, slot) | {"blocked": {"BOOL": True}, "ttl": number(seconds(expires_at))}


def sample_key(batch: BatchKey, slot: int) -> Item:
    return {"pk": text(str(batch)), "sk": text(f"sample#{slot:03d}")}


def sample_of(item: Item) -> Sample | None:
    """Return the reason in a slot; None if it was removed."""
    if "itemId" not in item:
        return None
    return Sample(item["itemId"]["S"], item["reason"]["S"], _time(item, "at"))


def key_item(tenant: str, route: str, key: str, fingerprint: str, expires_at: datetime) -> Item:
    """Return the row of an idempotency key: hashed, under its tenant and route, in its own partition."""
    expiry = {"ttl": number(seconds(expires_at))}
    return key_key(tenant, route, key) | {"fingerprint": text(fingerprint)} | expiry


def open_key_item(batch: Batch, key: str) -> Item:
    """Return the row of an open's idempotency key, with the id of its batch."""
    stands_for = {"batchId": text(batch.batch_id), "ttl": number(seconds(batch.row_expires_at))}
    return open_key(batch.tenant, key) | stands_for


def batch_id_of(item: Item) -> str:
    """Return the batch id in the row of an open's idempotency key. Raises NewerSchema."""
    return str(SCHEMA.checked("idempotency key", item)["batchId"]["S"])


def fingerprint_of(item: Item) -> str:
    """Return the fingerprint of the payload that an idempotency key is bound to. Raises NewerSchema."""
    return str(SCHEMA.checked("idempotency key", item)["fingerprint"]["S"])


def open_key(tenant: str, key: str) -> Item:
    return key_key(tenant, "open", key)


def key_key(tenant: str, route: str, key: str) -> Item:
    """Return the primary key of an idempotency key's row."""
    digest = hashlib.sha256(key.encode()).hexdigest()
    return {"pk": text(f"{tenant}#key#{route}#{digest}"), "sk": text(KEY_ROW)}


def page_key(key: PageKey) -> Item:
    return {"pk": text(str(key))}


_FAILED = [f"x{digit}" for digit, _ in digits(mask_of(0, PAGE_BITS_MAX - 1))]
WITHOUT_BITS = ",".join(["pk", "n", "compacted", *_FAILED])
"""The attributes of a page without its acked bits, as a projection expression: bits take long to parse."""


def page_of(item: Item) -> Page:
    """Return the page of a row: digits of the family ``d`` are acked bits, those of ``x`` failed ones.

    An empty row is a page on which nothing is acked.
    """
    bits = {"d": 0, "x": 0}
    for name, value in item.items():
        if (family := name[0]) in bits and (digit := name[1:]).isdigit():
            bits[family] |= int(value["N"]) << int(digit) * DIGIT_BITS
    return Page(
        bits=bits["d"],
        failed=bits["x"],
        n=int(item["n"]["N"]) if "n" in item else 0,
        size=int(item["size"]["N"]) if "size" in item else None,
        root=item.get("root", {}).get("BOOL", False),
        compacted="compacted" in item,
        failing="failing" in item,
    )


def _number_if(item: Item, name: str) -> int | None:
    return int(item[name]["N"]) if name in item else None


def _time_if(item: Item, name: str) -> datetime | None:
    return _time(item, name) if name in item else None


def _time(item: Item, name: str) -> datetime:
    return EPOCH + int(item[name]["N"]) * MILLISECOND


def _retention(item: Item) -> Retention:
    stages = (int(item[name]["N"]) * SECOND for name in ("retainOpen", "retainClosed", "retainComplete"))
    return Retention(*stages)
