"""Counts the requests and the consumed capacity of a DynamoDB client."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

REFUSED = "ConditionalCheckFailedException"
WRITES = frozenset(
    {
        *("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"),
        "BatchExecuteStatement",  # of statements that write: fanin sends no others
    }
)
READS = frozenset({"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"})


class Meter:
    """Totals by kind: the name of an operation, ``requests``, ``refused``, ``write_units``, ``read_units``.

    The units are the ConsumedCapacity of the answers, which the meter requests. A write whose condition
    failed is charged without being reported, so ``refused`` counts these writes.
    """

    def __init__(self) -> None:
        self.totals: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    def attach(self, client: DynamoDBClient) -> Meter:
        """Count the requests of *client* from now on, each attempt as one."""
        events = client.meta.events
        for operation in WRITES | READS:
            events.register(f"provide-client-params.dynamodb.{operation}", _ask_for_units)  # type: ignore[arg-type]
        events.register("before-send.dynamodb", self._sent)
        events.register("after-call.dynamodb", self._answered)
        return self

    def take(self, kind: str) -> float:
        """Return the count of *kind* since the last take."""
        with self._lock:
            before, self._taken[kind] = self._taken[kind], self.totals[kind]
            return self.totals[kind] - before

    def _sent(self, event_name: str, **_: Any) -> None:
        self._add(Counter({"requests": 1, event_name.rsplit(".", 1)[-1]: 1}))

    def _answered(self, parsed: dict[str, Any], event_name: str, **_: Any) -> None:
        reports = parsed.get("ConsumedCapacity", [])
        reports = [reports] if isinstance(reports, dict) else reports
        units = sum(report.get("CapacityUnits", 0) for report in reports)
        refused = int(parsed.get("Error", {}).get("Code") == REFUSED)
        kind = "write_units" if event_name.rsplit(".", 1)[-1] in WRITES else "read_units"
        self._add(Counter({kind: units, "refused": refused}))

    def _add(self, counts: Counter[str]) -> None:
        with self._lock:
            self.totals.update(counts)


def _ask_for_units(params: dict[str, Any], **_: Any) -> dict[str, Any]:
    return {"ReturnConsumedCapacity": "TOTAL"} | params
