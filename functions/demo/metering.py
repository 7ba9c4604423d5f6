"""What a client's writes cost, as DynamoDB itself says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})


@dataclass
class WriteUnits:
    """Adds up the write units of every answered write of a client; a refused write answers none."""

    units: float = 0.0

    def watch(self, client: DynamoDBClient) -> None:
        """Count from now on."""
        client.meta.events.register("provide-client-params.dynamodb", self._ask)
        client.meta.events.register("after-call.dynamodb", self._count)

    def take(self) -> float:
        """The units since the last call."""
        units, self.units = self.units, 0.0
        return units

    def _ask(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        if model.name in WRITES:
            params["ReturnConsumedCapacity"] = "TOTAL"

    def _count(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        if model.name in WRITES:
            told = parsed.get("ConsumedCapacity", [])
            self.units += sum(one["CapacityUnits"] for one in (told if isinstance(told, list) else [told]))
