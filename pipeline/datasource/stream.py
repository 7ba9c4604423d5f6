"""Reads completion events of batches as a stream, from the DynamoDB stream of the table of batches.

The stream keeps records for 24 hours. An event may be delivered twice, with one event id. A DynamoDB stream
supports at most two readers: fanin's own pipe is one, the archive, if enabled, the other.
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
from fanin.tracker.dynamodb.items import BATCH_ROW, batch_of
from fanin.tracker.events import CompletionEvent
from pipeline.datasource.options import Access
from pipeline.shared_by_jobs import schemas
from pipeline.table_frames.tables import RETRIES, Tables

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

EMPTY_ANSWERS = 3
"""Consecutive empty answers after which an open shard has no more records for now."""
SECONDS_BETWEEN = 0.25
"""A shard allows five requests a second."""

Record = Mapping[str, Any]
Offset = dict[str, str]
"""The sequence number of the last record read, by shard."""


class StreamForgot(RuntimeError):
    """The stream no longer holds the records after the checkpoint; the message says what to do."""


@dataclass(frozen=True)
class Span(InputPartition):
    """The records of a shard after sequence number *after* (None: from the first) up to *upto*, inclusive."""

    shard: str
    after: str | None
    upto: str


@dataclass
class EventReader(DataSourceStreamReader):
    """Reads EVENTS of one tenant."""

    access: Access
    _seen: Offset = field(default_factory=dict)

    def initialOffset(self) -> Offset:
        """Return the offset before the first record of the stream."""
        return {}

    def latestOffset(self, start: Offset | None = None, limit: Any = None) -> Offset:
        """Return the offset after the last record of each shard now; *start* is passed from Spark 4.2 on."""
        known = self._seen if start is None else start
        shards = Shards(self.access.tables)
        found = {shard: shards.last(shard, known.get(shard)) for shard in shards.names()}
        self._seen = {shard: number for shard, number in found.items() if number is not None}
        return self._seen

    def partitions(self, start: Offset, end: Offset) -> Sequence[Span]:
        """Return the shards with new records."""
        return [
            Span(shard, start.get(shard), upto) for shard, upto in end.items() if start.get(shard) != upto
        ]

    def read(self, partition: Span) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """Yield EVENTS of the batches that ended in a span."""
        schema = to_arrow_schema(schemas.EVENTS)
        records = Shards(self.access.tables).records(partition.shard, partition.after, partition.upto)
        rows = [event for record in records if (event := ending(record, self.access.tenant))]
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def ending(record: Record, tenant: str) -> dict[str, Any] | None:
    """Return the row of EVENTS of *record*; None if no batch of *tenant* ended by it."""
    new, old = (record["dynamodb"].get(image, {}) for image in ("NewImage", "OldImage"))
    if new.get("sk") != {"S": BATCH_ROW} or new["tenant"]["S"] != tenant or new["state"] == old.get("state"):
        return None
    batch = batch_of(new)
    if batch.is_alive:
        return None
    event = CompletionEvent.of(batch)
    return {name: getattr(event, name) for name in schemas.EVENTS.names}


@dataclass(frozen=True, slots=True)
class Shards:
    """The DynamoDB stream of the table of batches."""

    tables: Tables

    def names(self) -> list[str]:
        """Return the ids of all shards of the stream."""
        names: list[str] = []
        request: dict[str, Any] = {"StreamArn": self._arn()}
        while True:
            stream = self._client.describe_stream(**request)["StreamDescription"]
            names += [shard["ShardId"] for shard in stream["Shards"]]
            if "LastEvaluatedShardId" not in stream:
                return names
            request["ExclusiveStartShardId"] = stream["LastEvaluatedShardId"]

    def last(self, shard: str, after: str | None) -> str | None:
        """Return the number of the last record of *shard* now; *after* if there is no new one."""
        for record in self.records(shard, after):
            after = record["dynamodb"]["SequenceNumber"]
        return after

    def records(self, shard: str, after: str | None, upto: str | None = None) -> Iterator[Record]:
        """Yield the records of *shard* after number *after*, up to *upto* or the last one now."""
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
        position: dict[str, Any] = {"StreamArn": self._arn(), "ShardId": shard}
        if after is None:
            return self._iterator(position | {"ShardIteratorType": "TRIM_HORIZON"})
        try:
            return self._iterator(
                position | {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
            )
        except self._client.exceptions.TrimmedDataAccessException as error:
            raise StreamForgot(
                f"the records after {after} of shard {shard} are older than 24 hours: list the batches that"
                " ended meanwhile over the API, and start from a new checkpoint"
            ) from error

    def _iterator(self, request: dict[str, Any]) -> str | None:
        found: str | None = self._client.get_shard_iterator(**request).get("ShardIterator")
        return found

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
