"""Lists the queues by their config rows, with the depths that the sweep keeps there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fanin.aws.calls import send
from fanin.aws.dynamodb.reading import read_many
from fanin.aws.dynamodb.rows import Item
from fanin.errors import NewerSchema, StaleWrite
from fanin.pacing import pause
from fanin.queue.administration.describing import CountedDepth
from fanin.queue.dynamodb import counted as counts
from fanin.queue.dynamodb import items, page_requests, requests
from fanin.queue.maintenance.rounds import Listed
from fanin.queue.rules.config import QueueConfig, existing
from fanin.queue.rules.keys import QueueKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class Registry:
    """Reads the config rows of the table *table*; it creates no queues."""

    client: DynamoDBClient
    table: str

    def queues(self) -> Iterator[QueueKey]:
        """Yield each queue of each tenant that is not asleep; a new one can be missing for seconds."""
        return self._listed(items.LISTED)

    def sleeping(self, minute: int) -> Iterator[QueueKey]:
        """Yield the sleeping queues that are visited in *minute* of the day."""
        return self._listed(items.asleep_in(minute))

    def last_visits(self, queues: Sequence[QueueKey]) -> list[Listed]:
        """Return the queues that exist, each with what the last sweep found.

        A queue whose row a newer release wrote is as one without a visit: its visit raises the error.
        """
        return [each for row in self._configs(queues) if (each := _listed(row)) is not None]

    def of_tenant(self, tenant: str, after: str | None, limit: int) -> list[QueueKey]:
        """Return the first queues of a tenant after the name *after*, in order, sleeping ones included.

        A new queue can be missing for seconds.
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

    def record(self, queue: QueueKey, counted: CountedDepth) -> None:
        """Keep what a sweep counted, unless the queue is gone or a later sweep's count is kept."""
        with suppress(StaleWrite):
            send(self.client.update_item, counts.record(self.table, queue, counted))

    def seen(self, queues: Sequence[QueueKey]) -> Mapping[QueueKey, tuple[QueueConfig, CountedDepth | None]]:
        """Return the configs of the queues that exist, each with the depth that the last sweep found."""
        rows = self._configs(queues)
        found = {items.queue_of(row): (items.config_of(row), counts.counted_of(row)) for row in rows}
        return {queue: each for queue, each in found.items() if existing(each[0]) is not None}

    def _configs(self, queues: Sequence[QueueKey]) -> Iterator[Item]:
        keys = [items.config_row(queue) for queue in queues]
        return read_many(self.client, self.table, keys, pause, consistent=False)

    def _listed(self, listed: str) -> Iterator[QueueKey]:
        start: dict[str, Any] = {}
        while True:
            answer = send(self.client.query, requests.queues(self.table, listed) | start)
            for row in answer["Items"]:
                yield items.queue_of(row)
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def _listed(row: Item) -> Listed | None:
    """Return the queue of a config row; None for one that was removed."""
    queue = items.queue_of(row)
    try:
        config = items.config_of(row)
    except NewerSchema:
        return Listed(queue)
    return None if existing(config) is None else Listed(queue, config, counts.counted_of(row))
