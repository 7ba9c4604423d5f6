"""Counts request units of DynamoDB as it bills them, from the items as they are before and after a request.

moto reports no capacity. A write is billed by the larger of the two images, in steps of 1 KB, and again for
each index that it changes; a read by what it returns, in steps of 4 KB, by half if eventually consistent; a
write of a transaction twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

Item = Mapping[str, Any]
WRITE_STEP, READ_STEP = 1024, 4096


def size_of(item: Item) -> int:
    """Return the bytes of *item*: names and values."""
    return sum(len(name.encode()) + _value(value) for name, value in item.items())


def _value(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    return SIZES.get(kind, lambda _: 1)(content)


def _number(content: str) -> int:
    """Return the bytes of a number: one, and one for each two significant digits."""
    return ceil(len(content.strip("-0.")) / 2) + 1


SIZES: Mapping[str, Callable[[Any], int]] = {
    "S": lambda content: len(content.encode()),
    "B": len,
    "N": _number,
    "SS": lambda content: sum(len(each.encode()) for each in content),
    "M": lambda content: 3 + len(content) + size_of(content),
    "L": lambda content: 3 + len(content) + sum(map(_value, content)),
}
"""The bytes of a value by its type; all others have one."""


def write_units(before: Item | None, after: Item | None) -> int:
    """Return the units of a write to a table."""
    return max(1, *(ceil(size_of(each or {}) / WRITE_STEP) for each in (before, after)))


def index_units(before: Item | None, after: Item | None, index: Mapping[str, Any]) -> int:
    """Return the units that the write costs in *index*: none if what it has of the item stays the same."""
    old, new = _projected(before, index), _projected(after, index)
    if old == new:
        return 0
    keys = [each["AttributeName"] for each in index["KeySchema"]]
    moved = old is not None and new is not None and any(old[key] != new[key] for key in keys)
    return (2 if moved else 1) * write_units(old, new)


def _projected(item: Item | None, index: Mapping[str, Any]) -> Item | None:
    """Return the attributes of *item* in *index*, or None if the index has none of it."""
    keys = {each["AttributeName"] for each in index["KeySchema"]}
    if item is None or not keys <= item.keys():
        return None
    projection = index["Projection"]
    if projection["ProjectionType"] == "ALL":
        return item
    return {
        name: item[name] for name in keys | {"pk", *projection.get("NonKeyAttributes", ())} if name in item
    }


def read_units(items: list[Item], consistent: bool) -> float:
    """Return the units of a read that returns *items* together."""
    return max(1, ceil(sum(map(size_of, items)) / READ_STEP)) * (1 if consistent else 0.5)


@dataclass
class UnitMeter:
    """Adds up the units of all requests of a client. *plain*: another client of the same tables."""

    plain: Any
    reads: float = 0
    writes: float = 0
    _before: list[tuple[str, Item, Item | None]] = field(default_factory=list)
    _asked: Mapping[str, Any] = field(default_factory=dict)

    def attach(self, client: Any) -> UnitMeter:
        """Count the requests of *client* from now on."""
        client.meta.events.register("provide-client-params.dynamodb", self._ask)
        client.meta.events.register("after-call.dynamodb", self._answered)
        return self

    def _ask(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self._asked = params
        self._before = [
            (table, key, self._item(table, key)) for table, key in self._written(model.name, params)
        ]

    def _answered(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        twice = 2 if model.name.startswith("Transact") else 1
        for table, key, before in self._before:
            after = self._item(table, key)
            indexes = self._indexes(table)
            self.writes += twice * write_units(before, after)
            self.writes += sum(index_units(before, after, each) for each in indexes)
        self.reads += self._read(model.name, parsed)

    def _read(self, operation: str, parsed: Mapping[str, Any]) -> float:
        consistent = bool(self._asked.get("ConsistentRead"))
        match operation:
            case "GetItem":
                return read_units([parsed.get("Item", {})], consistent)
            case "Query" | "Scan":
                return read_units(list(parsed.get("Items", ())), consistent)
            case "BatchGetItem":
                asked = self._asked["RequestItems"]
                return sum(
                    read_units([item], bool(asked[table].get("ConsistentRead")))
                    for table, items in parsed.get("Responses", {}).items()
                    for item in items
                )
        return 0

    def _written(self, operation: str, params: Mapping[str, Any]) -> list[tuple[str, Item]]:
        match operation:
            case "UpdateItem" | "DeleteItem":
                return [(params["TableName"], params["Key"])]
            case "PutItem":
                return [(params["TableName"], self._key(params["TableName"], params["Item"]))]
            case "TransactWriteItems":
                return [self._of_transaction(each) for each in params["TransactItems"]]
        return []

    def _of_transaction(self, part: Mapping[str, Any]) -> tuple[str, Item]:
        ((_, write),) = part.items()
        table = write["TableName"]
        return table, write.get("Key") or self._key(table, write["Item"])

    def _key(self, table: str, item: Item) -> Item:
        schema = self.plain.describe_table(TableName=table)["Table"]["KeySchema"]
        return {each["AttributeName"]: item[each["AttributeName"]] for each in schema}

    def _indexes(self, table: str) -> list[Mapping[str, Any]]:
        found = self.plain.describe_table(TableName=table)["Table"]
        return [*found.get("GlobalSecondaryIndexes", ()), *found.get("LocalSecondaryIndexes", ())]

    def _item(self, table: str, key: Item) -> Item | None:
        found: Item | None = self.plain.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
        return found
