"""The keys of tables and indexes, from the request that creates a table or the answer that describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fanin.local.request_rules.attribute_values import Item, Value, octets, size_of_item
from fanin.local.request_rules.refusal import bounded, invalid

PARTITION_BYTES, SORT_BYTES = 2048, 1024
PAGE = "Quotas in Amazon DynamoDB, Partition keys and sort keys"


@dataclass(frozen=True, slots=True)
class Index:
    """The key attributes of an index, partition first, and which attributes it projects (None: all)."""

    keys: tuple[str, ...]
    is_local: bool
    projected: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class TableKeys:
    """The key attributes of a table, partition first, its indexes, and the types of all key attributes."""

    keys: tuple[str, ...]
    kinds: Mapping[str, str]
    indexes: Mapping[str, Index] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> TableKeys:
        """Return the keys of *table*, as ``CreateTable`` and ``DescribeTable`` write it."""
        kinds = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
        local = {each["IndexName"]: each for each in table.get("LocalSecondaryIndexes") or ()}
        others = {each["IndexName"]: each for each in table.get("GlobalSecondaryIndexes") or ()}
        indexes = {name: _index(each, name in local) for name, each in (others | local).items()}
        return cls(_names(table["KeySchema"]), kinds, indexes)

    def of_index(self, name: str | None) -> tuple[str, ...]:
        """Return the key attributes of the index *name*, or of the table; none for an unknown index."""
        if not name:
            return self.keys
        return self.indexes[name].keys if name in self.indexes else ()

    def key_of(self, item: Item) -> Item:
        """Return the primary key of *item*."""
        return {name: item[name] for name in self.keys if name in item}

    def check_key(self, key: Item) -> None:
        """Raise Refused unless *key* is a primary key of the table."""
        if set(key) != set(self.keys):
            names = ", ".join(self.keys)
            raise invalid(f"The provided key element does not match the schema: the key is {names}", PAGE)
        for name, value in key.items():
            self.check_key_value(name, value)

    def check_key_value(self, name: str, value: Value) -> None:
        """Raise Refused if *value* cannot be that of the key attribute *name* of the table or an index."""
        kind = self.kinds[name]
        if set(value) != {kind}:
            raise invalid(f"Type mismatch for key {name}: {kind} expected, {'/'.join(value)} given", PAGE)
        if kind == "N":
            return
        size = len(value["S"].encode()) if kind == "S" else len(octets(value["B"]))
        if size == 0:
            raise invalid(f"The key attribute {name} is empty", PAGE)
        bounded(f"Bytes of the key attribute {name}", size, self._bytes_max(name), PAGE)

    def check_index_keys(self, values: Item) -> None:
        """Raise Refused if one of *values*, by attribute, cannot be a key of an index."""
        for index in self.indexes.values():
            for name in index.keys:
                if name in values and name not in self.keys:
                    self.check_key_value(name, values[name])

    def names_in(self, index: Index) -> frozenset[str]:
        """Return the attributes in *index*, one that does not project all."""
        return frozenset({*(index.projected or ()), *index.keys, *self.keys})

    def local_bytes(self, item: Item) -> int:
        """Return the bytes of the entries of *item* in local indexes, which count to its own.

        An entry is stored beside its item and shares its partition key, which counts once.
        """
        return sum(self._entry(index, item) for index in self.indexes.values() if index.is_local)

    def _entry(self, index: Index, item: Item) -> int:
        if any(name not in item for name in index.keys):
            return 0
        names = (set(item) if index.projected is None else self.names_in(index)) - {self.keys[0]}
        return size_of_item({name: value for name, value in item.items() if name in names})

    def _bytes_max(self, name: str) -> int:
        """Return the limit of *name*; a sort key of any index has the smaller one."""
        sorts = {keys[-1] for keys in (self.keys, *(i.keys for i in self.indexes.values())) if len(keys) == 2}
        return SORT_BYTES if name in sorts else PARTITION_BYTES


def _index(index: Mapping[str, Any], is_local: bool) -> Index:
    projection = index["Projection"]
    kept: frozenset[str] | None = frozenset(projection.get("NonKeyAttributes") or ())
    if projection.get("ProjectionType") == "ALL":
        kept = None
    return Index(_names(index["KeySchema"]), is_local, kept)


def _names(schema: list[Mapping[str, str]]) -> tuple[str, ...]:
    by_kind = sorted(schema, key=lambda each: each["KeyType"] != "HASH")
    return tuple(each["AttributeName"] for each in by_kind)


class Tables(dict[str, TableKeys]):
    """The keys of the tables that were created or described, by the tables' names."""

    def learn(self, table: Mapping[str, Any]) -> None:
        """Keep the keys of *table*, from ``CreateTable`` or ``DescribeTable``."""
        if "KeySchema" in table and "AttributeDefinitions" in table:
            self[table["TableName"]] = TableKeys.of(table)

    def of(self, name: str) -> TableKeys | None:
        """Return the keys of the table *name*, which may be its ARN, or None if they are not known."""
        return self.get(name.rpartition("/")[2])

    def stored(self, _name: str, _key: Item, /) -> Item:
        """Return the row of a key in the table of a name; nothing where rows are not known."""
        return {}
