"""Build every write to the tracker's tables as plain data; nothing is sent here.

Attribute names are constants of this module; all input from outside is passed as expression values.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from math import ceil

from fanin.aws.dynamodb.rows import ABSENT, Item, in_transaction, number, put_new, text
from fanin.tracker.dynamodb.items import (
    BATCH_ROW,
    EVENT_ROW,
    PUT,
    SCHEMA,
    batch_item,
    children_key,
    due_list,
    elapsed_seconds,
    group_item,
    live_list,
    milliseconds,
    open_key_item,
    page_key,
    receipt_item,
    sample_item,
    seconds,
    token_item,
    token_key,
)
from fanin.tracker.rules.children import CHILDREN_MAX
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import (
    ALIVE,
    Batch,
    BatchKey,
    Group,
    ItemKey,
    PageKey,
    Receipt,
    Sample,
    State,
    shard_of,
)
from fanin.tracker.rules.options import TaskToken
from fanin.tracker.rules.page import (
    DIGIT_BITS,
    DIGIT_MAX,
    PAGE_BITS_MAX,
    Page,
    PageMasks,
    digits,
    mask_of,
)


def create(table: str, batch: Batch) -> Item:
    """Store the batch unless a batch with its key is stored."""
    return put_new(table, batch_item(batch))


def create_with(
    table: str, batch: Batch, token: TaskToken | None = None, instead_of: str | None = None
) -> Item:
    """One transaction: the batch, its task token, and its id among the children of its parent's item."""
    writes = [{"Put": in_transaction(create(table, batch))}]
    if token is not None:
        row = token_item(batch, token)
        writes.append({"Put": {"TableName": table, "Item": row, "ConditionExpression": ABSENT}})
    if batch.parent is not None:
        writes.append({"Update": _add_child(table, batch, batch.parent, instead_of)})
    return {"TransactItems": writes}


def _add_child(table: str, child: Batch, item: ItemKey, instead_of: str | None) -> Item:
    """Add a child to an item that has none yet, or a live one, or a failed one in whose place it is."""
    origin, before = (batch_id or child.batch_id for batch_id in (child.origin_batch_id, instead_of))
    admits = "liveCount > :none OR contains(failed, :origin) OR contains(failed, :before)"
    room = "liveCount < :max AND (attribute_not_exists(failed) OR size(failed) < :max)"
    return {
        "TableName": table,
        "Key": children_key(item),
        "UpdateExpression": "SET #ttl = :ttl ADD live :child, liveCount :one DELETE failed :replaced",
        "ConditionExpression": f"{ABSENT} OR ({admits}) AND {room}",
        "ExpressionAttributeNames": {"#ttl": "ttl"},
        "ExpressionAttributeValues": {
            ":child": {"SS": [child.batch_id]},
            ":origin": text(origin),
            ":before": text(before),
            ":replaced": {"SS": sorted({origin, before})},
            ":one": number(1),
            ":none": number(0),
            ":max": number(CHILDREN_MAX),
            ":ttl": number(seconds(child.row_expires_at)),
        },
    }


def end_child(table: str, item: ItemKey, child_id: str, failed: bool, listed: bool) -> Item:
    """Take a child that has ended out of the live ones; a repetition changes nothing.

    *listed*: one that has not failed is added to the done ones, on the condition that there is room.
    """
    kept = ", failed :child" if failed else ", done :child" if listed else ""
    is_bounded = listed and not failed
    room = " AND (attribute_not_exists(done) OR size(done) < :max)" if is_bounded else ""
    most = {":max": number(CHILDREN_MAX)} if is_bounded else {}
    return {
        "TableName": table,
        "Key": children_key(item),
        "UpdateExpression": f"ADD liveCount :minus{kept} DELETE live :child",
        "ConditionExpression": f"contains(live, :id){room}",
        "ExpressionAttributeValues": {
            ":minus": number(-1),
            ":child": {"SS": [child_id]},
            ":id": text(child_id),
            **most,
        },
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def drop_token(table: str, key: BatchKey) -> Item:
    return {"TableName": table, "Key": token_key(key)}


def create_under(
    table: str, batch: Batch, key: str, instead_of: str | None, token: TaskToken | None = None
) -> Item:
    """One transaction: the rows of ``create_with``, and its id under a key, unbound or of *instead_of*.

    Batch ids are never reused, so the condition holds however late the row of an earlier batch is deleted.
    """
    named = {"TableName": table, "Item": open_key_item(batch, key), "ConditionExpression": ABSENT}
    if instead_of is not None:
        named |= {
            "ConditionExpression": f"{ABSENT} OR batchId = :seen",
            "ExpressionAttributeValues": {":seen": text(instead_of)},
        }
    writes = create_with(table, batch, token, instead_of)["TransactItems"]
    return {"TransactItems": [{"Put": named}, *writes]}


def reserve(table: str, seen: Batch, receipt: Receipt, group: Group) -> Item:
    """One transaction: the receipt, the group's row, and the batch's total, if it is still the total seen."""
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
    return {"TransactItems": [*puts, {"Update": SCHEMA.guarded(grown)}]}


def prepare(table: str, key: PageKey, failing: bool, expires_at: datetime) -> Item:
    """Store a page above the leaves, and mark it if items below it may fail; a repetition changes nothing."""
    mark: Item = {":true": {"BOOL": True}} if failing else {}
    return {
        "TableName": table,
        "Key": page_key(key),
        "UpdateExpression": "SET #ttl = :ttl" + (", failing = :true" if failing else ""),
        "ConditionExpression": f"attribute_not_exists({'failing' if failing else 'pk'})",
        "ExpressionAttributeNames": {"#ttl": "ttl"},
        "ExpressionAttributeValues": mark | {":ttl": number(seconds(expires_at))},
    }


def add_bits(table: str, key: PageKey, masks: PageMasks, expires_at: datetime) -> Item:
    """The guarded add. DynamoDB has no bitwise OR, but a digit has only 64 values, so the condition lists
    those in which the bits to set are clear; then an addition is an OR. A bit of the failed family is set
    together with its bit in the first family and never earlier, so it needs no guard.
    """
    guards, adds = ["attribute_not_exists(compacted)"], ["n :count"]
    values: Item = {":count": number(masks.mask.bit_count())}
    for digit, value in digits(masks.mask):
        clear = [v for v in range(DIGIT_MAX + 1) if not v & value]
        values |= {f":v{v}": number(v) for v in clear} | {f":m{digit}": number(value)}
        guards.append(f"(attribute_not_exists(d{digit}) OR d{digit} IN ({_names(clear)}))")
        adds.append(f"d{digit} :m{digit}")
    for digit, value in digits(masks.failed):
        values[f":x{digit}"] = number(value)
        adds.append(f"x{digit} :x{digit}")
    update = f"SET #ttl = :ttl ADD {', '.join(adds)}"
    return _page_update(table, key, update, " AND ".join(guards), values, expires_at)


@cache
def _digit_texts() -> list[list[str]]:
    """Return the text of each value of each digit in a statement: to format them takes most of its time."""
    numbers = range(ceil(PAGE_BITS_MAX / DIGIT_BITS))
    return [[f",'d{digit}':{value}" for value in range(DIGIT_MAX + 1)] for digit in numbers]


def create_page(table: str, key: PageKey, page: Page, expires_at: datetime) -> Item:
    """The statement that stores a page without failures, unless a row has its key.

    Numbers are written out, because a parameter of each digit takes longer to send than the digit.
    """
    texts = _digit_texts()
    digit_values = "".join([texts[digit][value] for digit, value in digits(page.bits)])
    compacted = ",'compacted':true" if page.compacted else ""
    row = f"'pk':?,'n':{page.n},'ttl':{seconds(expires_at)}{compacted}{digit_values}"
    return {"Statement": f'INSERT INTO "{table}" VALUE {{{row}}}', "Parameters": [text(str(key))]}


def heal_bits(tables: tuple[str, str], key: PageKey, mask: int) -> Item:
    """One transaction: remove failed bits from the page, if all are set, and from the batch's count."""
    guards, adds = [], []
    values: Item = {}
    for digit, value in digits(mask):
        held = [v for v in range(DIGIT_MAX + 1) if v & value == value]
        values |= {f":v{v}": number(v) for v in held} | {f":m{digit}": number(-value)}
        guards.append(f"x{digit} IN ({_names(held)})")
        adds.append(f"x{digit} :m{digit}")
    page = {
        "TableName": tables[1],
        "Key": page_key(key),
        "UpdateExpression": f"ADD {', '.join(adds)}",
        "ConditionExpression": " AND ".join(guards),
        "ExpressionAttributeValues": values,
    }
    return _with_count(tables[0], key.batch, [page], -mask.bit_count(), healed=mask.bit_count())


def add_count(table: str, key: PageKey, count: int, expires_at: datetime) -> Item:
    """Add acks to the count of a page of an estimated batch."""
    guard = "attribute_not_exists(compacted)"
    return _page_update(
        table, key, "SET #ttl = :ttl ADD n :count", guard, {":count": number(count)}, expires_at
    )


def with_failures(table: str, key: BatchKey, pages: Sequence[Item], failures: int) -> Item:
    """Return one transaction: the writes of *pages*, and the number of their *failures* on the live batch."""
    return _with_count(table, key, [in_transaction(page) for page in pages], failures)


def replace_bits(
    table: str,
    key: PageKey,
    seen: Page,
    masks: PageMasks,
    expires_at: datetime,
    fills: bool = False,
    inner: bool = False,
) -> Item:
    """Set many digits over the page as it was seen. Bits are never cleared, so ``n`` is the page's version.

    One that *fills* the page removes its digits instead. The answer about an *inner* page has no row.

    Healing does not change ``n``, so the failed family is written by addition: its new bits are clear,
    because the same bits of the first family are. Digits with the same value share one placeholder, so
    that all digits of a page, in both families, fit into 4 KB.
    """
    marks = dict(digits(masks.failed))
    update, values = _filled(seen) if fills else _replaced(seen, masks.mask)
    values |= {f":v{value}": number(value) for value in marks.values()}
    values |= {":count": number(masks.mask.bit_count())}
    adds = ",".join(["n :count", *(f"x{digit} :v{value}" for digit, value in marks.items())])
    unchanged = "attribute_not_exists(n)"
    if seen.n:
        unchanged, values[":seen"] = "n = :seen", number(seen.n)
    guard = f"attribute_not_exists(compacted) AND {unchanged}"
    request = _page_update(table, key, f"{update} ADD {adds}", guard, values, expires_at)
    return request | {"ReturnValues": "NONE"} if inner else request


def _replaced(seen: Page, mask: int) -> tuple[str, Item]:
    """Return the update that sets the digits of *mask*, and its values."""
    after = dict(digits(seen.bits | mask))
    written = {digit: after[digit] for digit, _ in digits(mask)}
    sets = ",".join(f"d{digit}=:v{value}" for digit, value in written.items())
    return f"SET #ttl = :ttl,{sets}", {f":v{value}": number(value) for value in written.values()}


def _filled(seen: Page) -> tuple[str, Item]:
    """Return the update that compacts a page, and its values."""
    dropped = ",".join(f"d{digit}" for digit, _ in digits(seen.bits))
    update = "SET #ttl = :ttl, compacted = :true" + (f" REMOVE {dropped}" if dropped else "")
    return update, {":true": {"BOOL": True}}


def mark_tail(table: str, key: PageKey, size: int, root: bool, expires_at: datetime) -> Item:
    """Write the size of a level's last page, and whether it is the root; a repetition changes nothing."""
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
    """Remove the digits of a full page, whose bits 0 to *count* - 1 are set.

    A leaf of an estimated batch can count beyond the bits of a page; it has no digits to remove.
    """
    dropped = ", ".join(f"d{digit}" for digit, _ in digits(mask_of(0, min(count, PAGE_BITS_MAX) - 1)))
    return {
        "TableName": table,
        "Key": page_key(key),
        "UpdateExpression": f"SET compacted = :true REMOVE {dropped}",
        "ConditionExpression": "n = :count AND attribute_not_exists(compacted)",
        "ExpressionAttributeValues": {":true": {"BOOL": True}, ":count": number(count)},
    }


def batch_key(key: BatchKey) -> Item:
    return {"pk": text(str(key)), "sk": text(BATCH_ROW)}


def transition(table: str, key: BatchKey, step: Transition) -> Item:
    """Apply a transition of a batch, if the batch admits it."""
    conditions, values = _conditions(step)
    facts: Item = {"#state": text(step.to)}
    facts |= {name: number(milliseconds(at)) for name, at in _times(step).items()}
    lists, removed = _lists(key, step.to in ALIVE)
    facts |= lists
    if step.to not in ALIVE:
        facts["eventId"] = text(f"{key.batch_id}:{step.to}")
    if step.caller is not None:
        facts["completedBy"] = text(step.caller)
    if step.reason is not None:
        facts["endReason"] = text(step.reason)
    if step.reached is not None:
        facts["reached"] = number(step.reached)
    if step.by is not None:
        facts["endedBy"] = text(step.by)
    if step.children:
        facts["cancelsChildren"] = {"BOOL": True}
    return _batch_update(table, key, facts, conditions, values, removed)


def extend(table: str, key: BatchKey, expires_at: datetime, next_check_at: datetime) -> Item:
    """Extend the expiry of a live batch, if the new one is later."""
    until = number(milliseconds(expires_at))
    facts = {"expiresAt": until, "dueAt": number(milliseconds(next_check_at))}
    facts |= _lists(key, alive=True)[0]
    values = {":until": until} | _states(ALIVE)
    return _batch_update(table, key, facts, [_in(ALIVE), "expiresAt < :until"], values)


def cancel_children(table: str, key: BatchKey, next_check_at: datetime) -> Item:
    """Mark a batch that was cancelled without its children, and is not deleted; plan its next check."""
    conditions = [_in((State.CANCELLED,)), "attribute_not_exists(cancelsChildren)"]
    facts = next_check(key, next_check_at) | {"cancelsChildren": {"BOOL": True}}
    conditions.append("attribute_not_exists(deletedAt)")
    return _batch_update(table, key, facts, conditions, _states((State.CANCELLED,)))


def next_check(key: BatchKey, at: datetime) -> Item:
    """Return the attributes of the next check of an ended batch."""
    return _lists(key, alive=False)[0] | {"dueAt": number(milliseconds(at))}


def postpone(table: str, seen: Batch, next_check_at: datetime | None) -> Item:
    """Set the next check of a batch, or remove it, unless the batch has changed since it was seen."""
    values: Item = {":state": text(seen.state)}
    conditions = ["#state = :state", "attribute_not_exists(dueAt)"]
    if seen.next_check_at is not None:
        conditions[1], values[":seen"] = "dueAt = :seen", number(milliseconds(seen.next_check_at))
    lists, removed = _lists(seen.key, seen.is_alive)
    facts = lists | {"dueAt": number(milliseconds(next_check_at))} if next_check_at is not None else {}
    removed = removed if next_check_at is not None else ("dueAt", "dueShard", *removed)
    values |= {f":{name}": fact for name, fact in facts.items()}
    request = {
        "TableName": table,
        "Key": batch_key(seen.key),
        "UpdateExpression": _update(facts, removed),
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": values,
    }
    return SCHEMA.guarded(request)


def notice(table: str, batch: Batch, at: datetime) -> Item:
    """Put a row whose stream record makes the ending event be sent again; TTL deletes the row."""
    row = _row(batch.key, f"notice#{milliseconds(at):013d}", batch.expires_at)
    return {"TableName": table, "Item": row, "ConditionExpression": ABSENT}


def confirm(table: str, key: BatchKey, expires_at: datetime) -> Item:
    """Record that the bus has the ending event, also where it is only marked as put."""
    row, unknown = _row(key, EVENT_ROW, expires_at), f"{ABSENT} OR attribute_exists({PUT})"
    return {"TableName": table, "Item": row, "ConditionExpression": unknown}


def mark_put(table: str, key: BatchKey, expires_at: datetime) -> Item:
    """Record that the ending event was put, unless the bus has confirmed it."""
    row = _row(key, EVENT_ROW, expires_at) | {PUT: {"BOOL": True}}
    return {"TableName": table, "Item": row, "ConditionExpression": ABSENT}


def sample(table: str, key: BatchKey, slot: int, kept: Sample, expires_at: datetime) -> Item:
    """Put a failure's reason into a slot, if the slot is free and not blocked."""
    free = "attribute_not_exists(itemId) AND attribute_not_exists(blocked)"
    return put_new(table, sample_item(key, slot, kept, expires_at)) | {"ConditionExpression": free}


def remember(table: str, row: Item, at: datetime) -> Item:
    """Put an idempotency key with its payload's fingerprint, unless the key is stored and not expired."""
    return put_new(table, row) | {
        "ConditionExpression": f"{ABSENT} OR #ttl <= :now",
        "ExpressionAttributeNames": {"#ttl": "ttl"},
        "ExpressionAttributeValues": {":now": number(elapsed_seconds(at))},
    }


def _row(key: BatchKey, sort_key: str, expires_at: datetime) -> Item:
    return {"pk": text(str(key)), "sk": text(sort_key), "ttl": number(seconds(expires_at))}


def _times(step: Transition) -> dict[str, datetime]:
    """Return the times that a transition writes."""
    times = {"expiresAt": step.expires_at, "dueAt": step.next_check_at}
    if step.to is State.CLOSED:
        return times | {"closedAt": step.at}
    if step.to is State.COMPLETE:
        times["completedAt"] = step.at
    return times | {"endedAt": step.at}


def _conditions(step: Transition) -> tuple[list[str], Item]:
    """Return the condition of :meth:`Transition.admits` as expressions and their values."""
    conditions, values = [_in(step.sources)], _states(step.sources)
    if step.expected:
        conditions.append("(attribute_not_exists(expectedItems) OR #total >= expectedItems)")
    if step.failures is not None:
        unhealed = "healed = :healed" if step.healed else "attribute_not_exists(healed)"
        conditions += ["failed >= :failures", unhealed]
        values[":failures"] = number(step.failures)
        values |= {":healed": number(step.healed)} if step.healed else {}
    if step.to in (State.TIMED_OUT, State.EXPIRED):
        conditions.append("deadlineAt <= :at" if step.to is State.TIMED_OUT else "expiresAt <= :at")
        values[":at"] = number(milliseconds(step.at))
    return conditions, values


def _lists(key: BatchKey, alive: bool) -> tuple[Item, tuple[str, ...]]:
    """Return the index keys of a batch that has a next check, and the attributes of lists it has left."""
    shard = shard_of(key.batch_id)
    lists = {"dueShard": text(due_list(shard, alive))}
    return (lists | {"liveShard": text(live_list(shard))}, ()) if alive else (lists, ("liveShard",))


def _update(facts: Item, removed: tuple[str, ...]) -> str:
    """Return the expression that sets *facts* and removes the attributes *removed*."""
    sets = ", ".join(f"{name} = :{name.lstrip('#')}" for name in facts)
    parts = [f"SET {sets}" if facts else "", f"REMOVE {', '.join(removed)}" if removed else ""]
    return " ".join(part for part in parts if part)


def _batch_update(
    table: str,
    key: BatchKey,
    facts: Item,
    conditions: list[str],
    values: Item,
    removed: tuple[str, ...] = (),
) -> Item:
    """Write *facts* to a batch's row and drop *removed*, if the conditions hold; the row is returned."""
    names = {"#state": "state"}
    if any("#total" in condition for condition in conditions):
        names["#total"] = "total"
    request = {
        "TableName": table,
        "Key": batch_key(key),
        "UpdateExpression": _update(facts, removed),
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values | {f":{name.lstrip('#')}": fact for name, fact in facts.items()},
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return SCHEMA.guarded(request)


def _in(states: tuple[State, ...]) -> str:
    return f"#state IN ({', '.join(f':is{state}' for state in states)})"


def _states(states: tuple[State, ...]) -> Item:
    return {f":is{state}": text(state) for state in states}


def _names(numbers: list[int]) -> str:
    return ",".join(f":v{value}" for value in numbers)


def _with_count(table: str, key: BatchKey, pages: Sequence[Item], count: int, healed: int = 0) -> Item:
    counts = {":count": number(count)} | ({":healed": number(healed)} if healed else {})
    batch = {
        "TableName": table,
        "Key": batch_key(key),
        "UpdateExpression": "ADD failed :count" + (", healed :healed" if healed else ""),
        "ConditionExpression": _in(ALIVE),
        "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": counts | _states(ALIVE),
    }
    return {"TransactItems": [{"Update": update} for update in (*pages, SCHEMA.guarded(batch))]}


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
