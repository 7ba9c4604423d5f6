"""Counts request units of DynamoDB on moto, which reports no capacity, from the rows before and after.

``fanin.cost.rules`` has what is billed; ``fanin.cost.meter`` counts where answers report it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fanin.cost.meter import batch_units
from fanin.cost.rules import TRANSACTION, index_units, read_units, write_units
from fanin.cost.sizes import Row


@dataclass
class UnitMeter:
    """Adds up the units of all requests of a client. *uncounted*: another client of the same tables."""

    uncounted: Any
    reads: float = 0
    writes: float = 0
    _before: list[tuple[str, Row, Row | None]] = field(default_factory=list)
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
        twice = TRANSACTION if model.name.startswith("Transact") else 1
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
                tables = self._asked["RequestItems"].items()
                found = parsed.get("Responses", {})
                return sum(batch_units(each, found.get(table, ())) for table, each in tables)
        return 0

    def _written(self, operation: str, params: Mapping[str, Any]) -> list[tuple[str, Row]]:
        match operation:
            case "UpdateItem" | "DeleteItem":
                return [(params["TableName"], params["Key"])]
            case "PutItem":
                return [(params["TableName"], self._key(params["TableName"], params["Item"]))]
            case "TransactWriteItems":
                return [self._of_transaction(each) for each in params["TransactItems"]]
            case "BatchExecuteStatement":  # INSERT INTO "table" VALUE {'pk':?, ...}
                found = [(each["Statement"], each["Parameters"]) for each in params["Statements"]]
                return [(statement.split('"')[1], {"pk": key}) for statement, (key,) in found]
        return []

    def _of_transaction(self, part: Mapping[str, Any]) -> tuple[str, Row]:
        ((_, write),) = part.items()
        table = write["TableName"]
        return table, write.get("Key") or self._key(table, write["Item"])

    def _key(self, table: str, item: Row) -> Row:
        schema = self.uncounted.describe_table(TableName=table)["Table"]["KeySchema"]
        return {each["AttributeName"]: item[each["AttributeName"]] for each in schema}

    def _indexes(self, table: str) -> list[Mapping[str, Any]]:
        found = self.uncounted.describe_table(TableName=table)["Table"]
        return [*found.get("GlobalSecondaryIndexes", ()), *found.get("LocalSecondaryIndexes", ())]

    def _item(self, table: str, key: Row) -> Row | None:
        found: Row | None = self.uncounted.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
        return found
