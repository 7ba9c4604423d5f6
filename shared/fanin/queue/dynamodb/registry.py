"""Lists the queues by their config rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fanin.aws.calls import send
from fanin.aws.rows import Item
from fanin.aws.schema import readable
from fanin.queue.dynamodb import items, requests
from fanin.queue.keys import QueueKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class Registry:
    """Reads the config rows of the table *table*; it does not create queues."""

    client: DynamoDBClient
    table: str

    def parts(self, queue: QueueKey) -> int | None:
        """Return the number of parts of a queue; None for a queue that was never used."""
        row = send(self.client.get_item, requests.read(self.table, items.config_row(queue))).get("Item")
        return items.parts_of(row) if row else None

    def queues(self) -> Iterator[tuple[QueueKey, int]]:
        """Yield each queue of each tenant with its number of parts; a new one can be missing for seconds.

        A row that cannot be read is logged and left out.
        """
        start: dict[str, Any] = {}
        while True:
            answer = send(self.client.query, requests.queues(self.table) | start)
            yield from readable(_listed, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def _listed(row: Item) -> tuple[QueueKey, int]:
    return items.queue_of(row), items.parts_of(row)
