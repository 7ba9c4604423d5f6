"""Counts the units of production's requests by partition key, of each table and of each index."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fanin.cost.rules import TRANSACTION, index_units, projected, read_units, write_units
from fanin.cost.sizes import Row
from lab.cost.units import UnitMeter


class Key(NamedTuple):
    """A partition key of a table, or of one of its indexes: ``pages``, ``batches/due``."""

    place: str
    value: str


@dataclass
class KeyMeter(UnitMeter):
    """Writes and reads by key, of each request. *places*: what to call a table.

    Rows of one key in a table with a local index share its partition, so these units count there.
    """

    places: Mapping[str, str] = field(default_factory=dict)
    written: list[Counter[Key]] = field(default_factory=list)
    read: list[Counter[Key]] = field(default_factory=list)

    def by_key(self) -> Counter[Key]:
        """Return the write units of all requests."""
        return sum(self.written, Counter[Key]())

    def reads_by_key(self) -> Counter[Key]:
        """Return the read units of all requests."""
        return sum(self.read, Counter[Key]())

    def take(self) -> list[Counter[Key]]:
        """Return the write units of each request that wrote since the last take."""
        taken, self.written, self.read = [each for each in self.written if each], [], []
        return taken

    def _answered(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        twice = TRANSACTION if model.name.startswith("Transact") else 1
        units: Counter[Key] = Counter()
        for table, key, before in self._before:
            after = self._item(table, key)
            units[self._of(table, key)] += twice * write_units(before, after)
            for index in self._indexes(table):
                units.update(self._of_index(table, index, before, after))
        self.written.append(units)
        self.read.append(self._reads(model.name, parsed))

    def _of(self, table: str, row: Row) -> Key:
        name = self._hash(self.uncounted.describe_table(TableName=table)["Table"]["KeySchema"])
        return Key(self.places[table], row[name]["S"])

    def _of_index(
        self, table: str, index: Mapping[str, Any], before: Row | None, after: Row | None
    ) -> Counter[Key]:
        """Return the units of a write in *index*: half of them at the old key where it moves to another."""
        units = index_units(before, after, index)
        rows = [row for row in (projected(before, index), projected(after, index)) if row is not None]
        if not units:
            return Counter()
        name = self._hash(index["KeySchema"])
        keys = [Key(self._place(table, index["IndexName"]), row[name]["S"]) for row in rows]
        halves = keys if keys[0] != keys[-1] else keys[:1]
        return Counter({key: units // len(halves) for key in halves})

    def _reads(self, operation: str, parsed: Mapping[str, Any]) -> Counter[Key]:
        """Return the read units by key of a get; of a query, those of the key that it names."""
        if "Error" in parsed:
            return Counter()
        consistent = bool(self._asked.get("ConsistentRead"))
        if operation == "GetItem":
            key = self._of(self._asked["TableName"], self._asked["Key"])
            return Counter({key: read_units([parsed.get("Item", {})], consistent)})
        if operation == "Query":
            return Counter({self._queried(): read_units(list(parsed.get("Items", ())), consistent)})
        return Counter()

    def _queried(self) -> Key:
        asked = self._asked
        value = re.search(r"= (:\w+)", asked["KeyConditionExpression"])
        place = self._place(asked["TableName"], asked.get("IndexName", ""))
        return Key(place, asked["ExpressionAttributeValues"][value[1]]["S"] if value else "")

    def _place(self, table: str, index: str) -> str:
        place = f"{self.places[table]}/{index}"
        return place if index and place not in LOCAL else self.places[table]

    @staticmethod
    def _hash(schema: list[dict[str, str]]) -> str:
        return next(each["AttributeName"] for each in schema if each["KeyType"] == "HASH")


LOCAL = frozenset({"jobs/by_ix"})
"""Local indexes: they lie with the rows of their table."""
