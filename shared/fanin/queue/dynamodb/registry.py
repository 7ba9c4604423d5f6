"""Lists the queues by their config rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fanin.aws.calls import send
from fanin.queue.dynamodb import items, page_requests, requests
from fanin.queue.keys import QueueKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class Registry:
    """Reads the config rows of the table *table*; it does not create queues."""

    client: DynamoDBClient
    table: str

    def queues(self) -> Iterator[QueueKey]:
        """Yield each queue of each tenant that is not asleep; a new one can be missing for seconds."""
        return self._listed(items.LISTED)

    def sleeping(self, minute: int) -> Iterator[QueueKey]:
        """Yield the sleeping queues that are visited in *minute* of the day."""
        return self._listed(items.asleep_in(minute))

    def of_tenant(self, tenant: str, after: str | None, limit: int) -> list[QueueKey]:
        """Return the first queues of a tenant after the name *after*, in order, sleeping ones included.

        A new queue can be missing for seconds, and one of version 0.1 until its config is first written.
        """
        found: list[dict[str, Any]] = []
        request = page_requests.queues_of(self.table, tenant, after, limit)
        while len(found) < limit:
            answer = send(self.client.query, request)
            found += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                break
            request |= {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
        return [items.queue_of(row) for row in found[:limit]]

    def _listed(self, listed: str) -> Iterator[QueueKey]:
        start: dict[str, Any] = {}
        while True:
            answer = send(self.client.query, requests.queues(self.table, listed) | start)
            for row in answer["Items"]:
                yield items.queue_of(row)
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
