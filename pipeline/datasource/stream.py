"""Reads the endings of batches as a stream, from the stream of the table of batches.

The table's stream holds 24 hours. An ending may come twice, under one event id. A stream of DynamoDB's is
made for two readers at most: fanin's own pipe is one, the archive, where there is one, the other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import boto3
import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from fanin.aws.forking import cache_per_process
from fanin.tracker.events import EVENT_TYPES, event_id
from fanin.tracker.items import BATCH_ROW, batch_of
from pipeline import schemas
from pipeline.datasource.options import Access
from pipeline.tables import RETRIES, Tables

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

EMPTY_ANSWERS = 3
"""Answers without a record in a row after which an open shard is taken to have no more now."""
SECONDS_BETWEEN = 0.25
"""A shard answers five requests a second."""

Record = Mapping[str, Any]
Offset = dict[str, str]
"""The number of the last record seen of each shard that there still is."""


class StreamForgot(RuntimeError):
    """The table's stream no longer holds what comes after the checkpoint; the message says what to do."""


@dataclass(frozen=True)
class Span(InputPartition):
    """The records of a shard after number *after* (its first if None), up to number *upto*, inclusive."""

    shard: str
    after: str | None
    upto: str


@dataclass
class EventReader(DataSourceStreamReader):
    """EVENTS of one tenant, as they come."""

    access: Access
    _seen: Offset = field(default_factory=dict)

    def initialOffset(self) -> Offset:
        """Before the first record that the stream holds."""
        return {}

    def latestOffset(self, start: Offset | None = None, limit: Any = None) -> Offset:
        """After the last record of each shard now. From Spark 4.2 on it is told where to look on from."""
        known = self._seen if start is None else start
        shards = Shards(self.access.tables)
        found = {shard: shards.last(shard, known.get(shard)) for shard in shards.names()}
        self._seen = {shard: number for shard, number in found.items() if number is not None}
        return self._seen

    def partitions(self, start: Offset, end: Offset) -> Sequence[Span]:
        """The shards in which anything came."""
        return [
            Span(shard, start.get(shard), upto) for shard, upto in end.items() if start.get(shard) != upto
        ]

    def read(self, partition: Span) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """EVENTS of the endings among the records of a span."""
        schema = to_arrow_schema(schemas.EVENTS)
        records = Shards(self.access.tables).records(partition.shard, partition.after, partition.upto)
        rows = [event for record in records if (event := ending(record, self.access.tenant))]
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def ending(record: Record, tenant: str) -> dict[str, Any] | None:
    """The row of EVENTS that *record* tells of; None where no batch of *tenant* ended by it."""
    new, old = (record["dynamodb"].get(image, {}) for image in ("NewImage", "OldImage"))
    if new.get("sk") != {"S": BATCH_ROW} or new["tenant"]["S"] != tenant or new["state"] == old.get("state"):
        return None
    batch = batch_of(new)
    if batch.is_alive:
        return None
    return {
        "event_id": event_id(batch),
        "detail_type": EVENT_TYPES[batch.state],
        "tenant": batch.tenant,
        "batch_id": batch.batch_id,
        "user_key": batch.user_key,
        "result": batch.result,
        "reason": batch.end_reason,
        "total": batch.total,
        "failed": batch.failed,
        "opened_at": batch.created_at,
        "closed_at": batch.closed_at,
        "ended_at": batch.ended_at or batch.completed_at,
    }


@dataclass(frozen=True, slots=True)
class Shards:
    """The stream of the table of batches."""

    tables: Tables

    def names(self) -> list[str]:
        """Every shard that the stream holds."""
        names: list[str] = []
        request: dict[str, Any] = {"StreamArn": self._arn()}
        while True:
            stream = self._client.describe_stream(**request)["StreamDescription"]
            names += [shard["ShardId"] for shard in stream["Shards"]]
            if "LastEvaluatedShardId" not in stream:
                return names
            request["ExclusiveStartShardId"] = stream["LastEvaluatedShardId"]

    def last(self, shard: str, after: str | None) -> str | None:
        """The number of the last record of *shard* now; *after* where nothing came since."""
        for record in self.records(shard, after):
            after = record["dynamodb"]["SequenceNumber"]
        return after

    def records(self, shard: str, after: str | None, upto: str | None = None) -> Iterator[Record]:
        """The records of *shard* after number *after*; up to *upto*, or to the last one now."""
        iterator, empty = self._start(shard, after), 0
        while iterator and empty < EMPTY_ANSWERS:
            answer = self._client.get_records(ShardIterator=iterator)
            for record in answer["Records"]:
                yield record
                if record["dynamodb"]["SequenceNumber"] == upto:
                    return
            iterator = answer.get("NextShardIterator")
            empty = 0 if answer["Records"] else empty + 1
            if empty and iterator:
                time.sleep(SECONDS_BETWEEN)
        if upto is not None:
            raise StreamForgot(f"shard {shard} ends before its record {upto}; start from a new checkpoint")

    def _start(self, shard: str, after: str | None) -> str | None:
        place: dict[str, Any] = {"StreamArn": self._arn(), "ShardId": shard}
        if after is None:
            return self._iterator(place | {"ShardIteratorType": "TRIM_HORIZON"})
        try:
            return self._iterator(
                place | {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
            )
        except self._client.exceptions.TrimmedDataAccessException as error:
            raise StreamForgot(
                f"what came after record {after} of shard {shard} is older than 24 hours: list the batches"
                " that ended meanwhile over the API, and start from a new checkpoint"
            ) from error

    def _iterator(self, request: dict[str, Any]) -> str | None:
        return self._client.get_shard_iterator(**request)["ShardIterator"]

    def _arn(self) -> str:
        table = self.tables.client.describe_table(TableName=self.tables.batches)["Table"]
        if not table.get("LatestStreamArn"):
            raise StreamForgot(f"table {self.tables.batches} has no stream")
        return table["LatestStreamArn"]

    @property
    def _client(self) -> DynamoDBStreamsClient:
        return _client(self.tables.region, self.tables.endpoint)


@cache_per_process
def _client(region: str | None, endpoint: str | None) -> DynamoDBStreamsClient:
    return boto3.client("dynamodbstreams", region_name=region, endpoint_url=endpoint, config=RETRIES)
