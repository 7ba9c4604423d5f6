"""The index table: a row for each package, and a row for each batch with the workers' counts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from examples.catalog.functions.package import Package
from fanin import StoreUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ROWS_A_WRITE = 25
ATTEMPTS = 8
FIRST_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Entry:
    """A package of a message; times in ms since 1970."""

    item_id: str
    package: Package
    sent_at: int
    processed_at: int

    @property
    def key(self) -> str:
        """The name and version, as in the names of Debian's files."""
        return f"{self.package.name}_{self.package.version}"

    def row(self) -> dict[str, Any]:
        """Return the row of the table."""
        package = self.package
        texts = {"pk": self.key, "itemId": self.item_id, "name": package.name, "version": package.version}
        texts |= {"section": package.section, "maintainer": package.maintainer}
        numbers = {"size": package.size, "sentAt": self.sent_at, "processedAt": self.processed_at}
        return {
            **{name: {"S": value} for name, value in texts.items()},
            **{name: {"N": str(value)} for name, value in numbers.items()},
            "depends": {"L": [{"S": name} for name in package.depends]},
        }


@dataclass(frozen=True, slots=True)
class Index:
    """Writes the index through a low-level client."""

    client: DynamoDBClient
    table: str
    sleep: Callable[[float], None] = time.sleep

    def write(self, entries: Sequence[Entry]) -> None:
        """Put a row for each package, or raise StoreUnavailable after 8 attempts."""
        rows = list({entry.key: entry.row() for entry in entries}.values())
        for first in range(0, len(rows), ROWS_A_WRITE):
            self._put([{"PutRequest": {"Item": row}} for row in rows[first : first + ROWS_A_WRITE]])

    def count(self, batch_id: str, amounts: Mapping[str, float]) -> None:
        """Add *amounts* to the counters of a batch, in its row ``run#<batchId>``."""
        self.client.update_item(
            TableName=self.table,
            Key={"pk": {"S": f"run#{batch_id}"}},
            UpdateExpression="ADD " + ", ".join(f"#{name} :{name}" for name in amounts),
            ExpressionAttributeNames={f"#{name}": name for name in amounts},
            ExpressionAttributeValues={f":{name}": {"N": str(amount)} for name, amount in amounts.items()},
        )

    def _put(self, writes: list[Any]) -> None:
        unprocessed: Any = {self.table: writes}
        for attempt in range(ATTEMPTS):
            unprocessed = self.client.batch_write_item(RequestItems=unprocessed).get("UnprocessedItems")
            if not unprocessed:
                return
            self.sleep(random.uniform(0, FIRST_PAUSE_SECONDS * 2**attempt))
        raise StoreUnavailable("the index table is throttled; retry")
