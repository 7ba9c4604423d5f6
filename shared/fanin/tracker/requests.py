"""Every write to the tracker's tables, as plain data: no client, no network, nothing sent here.

Names of attributes are constants of this module; whatever comes from outside travels as a value.
"""

from __future__ import annotations

from datetime import datetime

from fanin.tracker.items import (
    BATCH_ROW,
    Item,
    batch_item,
    group_item,
    milliseconds,
    number,
    page_key,
    receipt_item,
    seconds,
    text,
)
from fanin.tracker.model import Batch, BatchKey, Group, PageKey, Receipt, State
from fanin.tracker.page import DIGIT_MAX, Page, digits, mask_of

ABSENT = "attribute_not_exists(pk)"


def create(table: str, batch: Batch) -> Item:
    """Store the batch unless one of its key is there."""
    return {
        "TableName": table,
        "Item": batch_item(batch),
        "ConditionExpression": ABSENT,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def reserve(table: str, seen: Batch, receipt: Receipt, group: Group) -> Item:
    """One transaction: the receipt, the group's row, and the batch grown from the total that was seen."""
    grown = {
        "TableName": table,
        "Key": batch_key(seen.key),
        "UpdateExpression": "SET #total = :after",
        "ConditionExpression": "#state = :open AND #total = :seen",
        "ExpressionAttributeNames": {"#total": "total", "#state": "state"},
        "ExpressionAttributeValues": {
            ":open": text(State.OPEN),
            ":seen": number(seen.total),
            ":after": number(seen.total + receipt.count),
        },
    }
    rows = (receipt_item(seen, receipt), group_item(seen, receipt.start, group))
    puts = [{"Put": {"TableName": table, "Item": row, "ConditionExpression": ABSENT}} for row in rows]
    return {"TransactItems": [*puts, {"Update": grown}]}


def close(table: str, key: BatchKey, at: datetime, expires_at: datetime) -> Item:
    """OPEN becomes CLOSED."""
    return _turn(table, key, (State.OPEN, State.CLOSED), {"closedAt": number(milliseconds(at))}, expires_at)


def complete(table: str, key: BatchKey, caller: str, at: datetime, expires_at: datetime) -> Item:
    """CLOSED becomes COMPLETE, by a caller whose name stays."""
    facts = {
        "completedAt": number(milliseconds(at)),
        "completedBy": text(caller),
        "eventId": text(f"{key.batch_id}:{State.COMPLETE}"),
    }
    return _turn(table, key, (State.CLOSED, State.COMPLETE), facts, expires_at)


def add_bits(table: str, key: PageKey, mask: int, expires_at: datetime) -> Item:
    """The guarded add: DynamoDB knows no bitwise OR, but a digit has only 64 values, so the condition can
    name those in which the wanted bits are clear; then an addition is an OR."""
    guards, adds = ["attribute_not_exists(compacted)"], []
    values: Item = {}
    for digit, value in digits(mask):
        clear = [v for v in range(DIGIT_MAX + 1) if not v & value]
        values |= {f":v{v}": number(v) for v in clear} | {f":m{digit}": number(value)}
        names = ",".join(f":v{v}" for v in clear)
        guards.append(f"(attribute_not_exists(d{digit}) OR d{digit} IN ({names}))")
        adds.append(f"d{digit} :m{digit}")
    adds.append("n :count")
    values[":count"] = number(mask.bit_count())
    return _page_update(
        table, key, f"SET #ttl = :ttl ADD {', '.join(adds)}", " AND ".join(guards), values, expires_at
    )


def replace_bits(table: str, key: PageKey, seen: Page, mask: int, expires_at: datetime) -> Item:
    """Many digits at once, over the page as it was seen: bits are only ever set, so ``n`` is its version."""
    after = dict(digits(seen.bits | mask))
    values = {f":w{digit}": number(after[digit]) for digit, _ in digits(mask)}
    sets = ", ".join(f"d{digit} = :w{digit}" for digit, _ in digits(mask))
    values |= {":count": number(mask.bit_count())}
    unchanged = "attribute_not_exists(n)"
    if seen.n:
        unchanged, values[":seen"] = "n = :seen", number(seen.n)
    guard = f"attribute_not_exists(compacted) AND {unchanged}"
    return _page_update(table, key, f"SET #ttl = :ttl, {sets} ADD n :count", guard, values, expires_at)


def mark_tail(table: str, key: PageKey, size: int, root: bool, expires_at: datetime) -> Item:
    """What close tells the last page of a level; said again it changes nothing."""
    request = _page_update(
        table,
        key,
        "SET #ttl = :ttl, #size = :size, #root = :root",
        "attribute_not_exists(#size) OR #size = :size",
        {":size": number(size), ":root": {"BOOL": root}},
        expires_at,
    )
    request["ExpressionAttributeNames"] |= {"#size": "size", "#root": "root"}
    return request


def compact(table: str, key: PageKey, count: int) -> Item:
    """Drop the digits of a page that is full: its bits 0 to *count* - 1 are set, and no others."""
    dropped = ", ".join(f"d{digit}" for digit, _ in digits(mask_of(0, count - 1)))
    return {
        "TableName": table,
        "Key": page_key(key),
        "UpdateExpression": f"SET compacted = :true REMOVE {dropped}",
        "ConditionExpression": "n = :count AND attribute_not_exists(compacted)",
        "ExpressionAttributeValues": {":true": {"BOOL": True}, ":count": number(count)},
    }


def batch_key(key: BatchKey) -> Item:
    return {"pk": text(str(key)), "sk": text(BATCH_ROW)}


def _turn(table: str, key: BatchKey, turn: tuple[State, State], facts: Item, expires_at: datetime) -> Item:
    """The batch goes from one state to the next, with the facts of the moment."""
    values = {":from": text(turn[0]), ":to": text(turn[1])}
    values |= {":expires": number(milliseconds(expires_at)), ":ttl": number(seconds(expires_at))}
    sets = ["#state = :to", "expiresAt = :expires", "#ttl = :ttl", *(f"{name} = :{name}" for name in facts)]
    return {
        "TableName": table,
        "Key": batch_key(key),
        "UpdateExpression": "SET " + ", ".join(sets),
        "ConditionExpression": "#state = :from",
        "ExpressionAttributeNames": {"#state": "state", "#ttl": "ttl"},
        "ExpressionAttributeValues": values | {f":{name}": value for name, value in facts.items()},
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _page_update(
    table: str, key: PageKey, update: str, guard: str, values: Item, expires_at: datetime
) -> Item:
    return {
        "TableName": table,
        "Key": page_key(key),
        "UpdateExpression": update,
        "ConditionExpression": guard,
        "ExpressionAttributeNames": {"#ttl": "ttl"},
        "ExpressionAttributeValues": values | {":ttl": number(seconds(expires_at))},
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
