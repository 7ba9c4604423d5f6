"""The rules for requests of DynamoDB."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fanin.local.request_rules.attribute_values import (
    ITEM_BYTES,
    Item,
    check_item,
    check_value,
    octets,
    size_of_item,
)
from fanin.local.request_rules.expression_rules import NAMES, VALUES, check_expressions, resolved
from fanin.local.request_rules.expressions import UPDATES, Parsed
from fanin.local.request_rules.queries import check_read
from fanin.local.request_rules.refusal import TRANSACTIONS, bounded, invalid
from fanin.local.request_rules.table_keys import PAGE, PARTITION_BYTES, TableKeys, Tables

Request = Mapping[str, Any]

ACTIONS_MAX, TRANSACTION_BYTES, TOKEN_MAX = 100, 4 * 1024 * 1024, 36
WRITES_MAX, READS_MAX = 25, 100
STATEMENT_MAX = 8192
STATEMENTS = "DynamoDB API Reference, BatchExecuteStatement and BatchStatementRequest"
BATCHES = "DynamoDB API Reference, BatchWriteItem and BatchGetItem"


def check_put(request: Request, tables: Tables) -> int:
    """Check the put of an item; return its bytes."""
    check_expressions(request)
    return _check_put_item(request["TableName"], request["Item"], tables)


def _check_put_item(table: str, item: Item, tables: Tables) -> int:
    check_item(item)
    known = tables.of(table)
    if known:
        known.check_key(known.key_of(item))
        known.check_index_keys(item)
        whole = size_of_item(item) + known.local_bytes(item)
        bounded("Bytes of the item with its entries in local indexes", whole, ITEM_BYTES)
    return size_of_item(item)


def check_update(request: Request, tables: Tables) -> int:
    """Check an update; return the bytes of the key and of the values that it stores."""
    found = check_expressions(request)
    _check_key(request["TableName"], request["Key"], tables)
    stored = dict(request["Key"])
    if update := found.get("UpdateExpression"):
        stored |= _check_written(update, request, tables.of(request["TableName"]))
    size = size_of_item(stored)
    bounded("Bytes of the key and the stored values of an update", size, ITEM_BYTES)
    return size


def _check_written(update: Parsed, request: Request, known: TableKeys | None) -> dict[str, Any]:
    """Return the values that *update* sets as they are, by attribute."""
    names, values = request.get(NAMES) or {}, request.get(VALUES) or {}
    keys = known.keys if known else tuple(request["Key"])
    written: dict[str, Any] = {}
    for write in update.writes:
        path = resolved(write.path, names)
        if path[0] in keys:
            detail = f"Cannot update attribute {path[0]}. This attribute is part of the key"
            raise invalid(f"One or more parameter values were invalid: {detail}", UPDATES)
        if len(path) == 1 and write.clause == "SET" and write.value is not None:
            written[str(path[0])] = values[write.value]
    if known:
        known.check_index_keys(written)
    return written


def check_keyed(request: Request, tables: Tables) -> int:
    """Check a request that names an item by its key; return the key's bytes."""
    check_expressions(request)
    _check_key(request["TableName"], request["Key"], tables)
    return size_of_item(request["Key"])


def _check_key(table: str, key: Item, tables: Tables) -> None:
    for value in key.values():
        check_value(value)
    known = tables.of(table)
    if known:
        known.check_key(key)
        return
    for name, value in key.items():
        for kind in value.keys() & {"S", "B"}:
            size = len(value["S"].encode()) if kind == "S" else len(octets(value["B"]))
            if size == 0:
                raise invalid(f"The key attribute {name} is empty", PAGE)
            bounded(f"Bytes of the key attribute {name}", size, PARTITION_BYTES, PAGE)


def check_query(request: Request, tables: Tables) -> None:
    """Check a query or a scan."""
    check_read(request, check_expressions(request), tables.of(request["TableName"]))


def check_read_in_transaction(request: Request, tables: Tables) -> int:
    """Check a read by a key; return the bytes of the row, where rows are known."""
    check_keyed(request, tables)
    return size_of_item(tables.stored(request["TableName"], request["Key"]))


ACTIONS: dict[str, Callable[[Request, Tables], int]] = {
    "Put": check_put,
    "Update": check_update,
    "Delete": check_keyed,
    "ConditionCheck": check_keyed,
    "Get": check_read_in_transaction,
}


def check_transaction(request: Request, tables: Tables) -> None:
    """Check a transaction of reads or writes."""
    token = request.get("ClientRequestToken")
    if token is not None:
        bounded("Characters of the ClientRequestToken", len(token), TOKEN_MAX, TRANSACTIONS)
        if not token:
            raise invalid("The ClientRequestToken is empty", TRANSACTIONS)
    actions = request["TransactItems"]
    _check_count("actions of a transaction", len(actions), ACTIONS_MAX, TRANSACTIONS)
    total, items = 0, []
    for action in actions:
        ((kind, each),) = action.items()
        if kind in {"Update", "ConditionCheck"} and f"{kind.removesuffix('Check')}Expression" not in each:
            raise invalid(f"A {kind} of a transaction needs its expression", TRANSACTIONS)
        total += ACTIONS[kind](each, tables)
        items.append((each["TableName"], _key(each, tables)))
    bounded("Bytes of a transaction", total, TRANSACTION_BYTES, TRANSACTIONS)
    _check_distinct(items, "Transaction request cannot include multiple operations on one item", TRANSACTIONS)


def _key(action: Request, tables: Tables) -> Item | None:
    """Return the key of the item of *action*; None for a put into a table whose keys are not known."""
    if "Key" in action:
        return dict(action["Key"])
    known = tables.of(action["TableName"])
    return known.key_of(action["Item"]) if known else None


def _check_count(subject: str, found: int, most: int, page: str) -> None:
    if found < 1:
        raise invalid(f"Number of {subject}: none; at least one is needed", page)
    bounded(f"Number of {subject}", found, most, page)


def _check_distinct(items: Iterable[tuple[str, Item | None]], detail: str, page: str) -> None:
    seen = set()
    for table, key in items:
        if key is None:
            continue
        marked = (table, json.dumps(key, sort_keys=True, default=repr))
        if marked in seen:
            raise invalid(detail, page)
        seen.add(marked)


def check_batch_write(request: Request, tables: Tables) -> None:
    """Check a batch of puts and deletes. 25 items of 400 KB are within the 16 MB that a batch may have."""
    written = [(table, each) for table, some in request["RequestItems"].items() for each in some]
    _check_count("writes of a batch", len(written), WRITES_MAX, BATCHES)
    items = []
    for table, each in written:
        if "PutRequest" in each:
            item = each["PutRequest"]["Item"]
            _check_put_item(table, item, tables)
            items.append((table, _key({"TableName": table, "Item": item}, tables)))
        else:
            key = each["DeleteRequest"]["Key"]
            _check_key(table, key, tables)
            items.append((table, key))
    _check_distinct(items, "Provided list of item keys contains duplicates", BATCHES)


def check_batch_get(request: Request, tables: Tables) -> None:
    """Check a batch of reads."""
    asked = request["RequestItems"]
    _check_count("keys of a batch", sum(len(each["Keys"]) for each in asked.values()), READS_MAX, BATCHES)
    for table, each in asked.items():
        check_expressions(each)
        for key in each["Keys"]:
            _check_key(table, key, tables)
    items = [(table, key) for table, each in asked.items() for key in each["Keys"]]
    _check_distinct(items, "Provided list of item keys contains duplicates", BATCHES)


def check_statements(request: Request, tables: Tables) -> None:  # noqa: ARG001  # named by the statements
    """Check the counts and the values of a batch of statements; the engine parses them."""
    statements = request["Statements"]
    _check_count("statements of a batch", len(statements), WRITES_MAX, STATEMENTS)
    for each in statements:
        bounded("Characters of a statement", len(each["Statement"]), STATEMENT_MAX, STATEMENTS)
        for value in each.get("Parameters") or ():
            check_value(value)


OPERATIONS: dict[str, Callable[[Request, Tables], object]] = {
    "PutItem": check_put,
    "UpdateItem": check_update,
    "DeleteItem": check_keyed,
    "GetItem": check_keyed,
    "Query": check_query,
    "Scan": check_query,
    "TransactWriteItems": check_transaction,
    "TransactGetItems": check_transaction,
    "BatchWriteItem": check_batch_write,
    "BatchGetItem": check_batch_get,
    "BatchExecuteStatement": check_statements,
}
