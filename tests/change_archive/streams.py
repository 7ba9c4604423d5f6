"""Stream records as Lambda receives them: made of two images, or read from the streams of moto's tables."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from typing import Any

Record = dict[str, Any]
AT = 1_790_000_000
STREAM = "arn:aws:dynamodb:eu-west-1:123456789012:table/{}/stream/2026-01-01T00:00:00.000"
IMAGES = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
KEYS = ("pk", "sk")


def record(
    new: dict[str, Any] | None, old: dict[str, Any] | None = None, *, table: str = "Pages", number: int = 1
) -> Record:
    """The record of a change from *old* to *new*, the *number*-th of the table's stream and second."""
    name = "REMOVE" if new is None else "INSERT" if old is None else "MODIFY"
    images = {"NewImage": new, "OldImage": old}
    keys = {key: value for key, value in (new or old or {}).items() if key in KEYS}
    return {
        "eventID": f"{number:032x}",
        "eventName": name,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "eu-west-1",
        "dynamodb": {
            "ApproximateCreationDateTime": float(AT + number),
            "Keys": keys,
            **{image: value for image, value in images.items() if value is not None},
            "SequenceNumber": f"{number:021d}",
            "SizeBytes": 100,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "eventSourceARN": STREAM.format(table),
    }


def turn_on(client: Any, *tables: str) -> None:
    """Give the *tables* streams of both images."""
    for table in tables:
        client.update_table(TableName=table, StreamSpecification=IMAGES)


def iterator(dynamodb: Any, streams: Any, table: str) -> str:
    """Where the stream of *table* begins; it has one shard."""
    arn = dynamodb.describe_table(TableName=table)["Table"]["LatestStreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    place = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    return str(streams.get_shard_iterator(StreamArn=arn, **place)["ShardIterator"])


def read_on(streams: Any, table: str, place: str) -> tuple[list[Record], str]:
    """What the stream of *table* has from *place* on, and where to go on from."""
    answer = streams.get_records(ShardIterator=place)
    records = [as_delivered(each, STREAM.format(table)) for each in answer["Records"]]
    return [each for each in records if not _is_half(each["dynamodb"])], answer["NextShardIterator"]


def as_delivered(record: Record, stream_arn: str) -> Record:
    """*record* of GetRecords as Lambda delivers it: plain JSON, with the ARN of its stream."""
    delivered: Record = json.loads(json.dumps(record, default=_as_json))
    return {**delivered, "eventSourceARN": stream_arn}


def _as_json(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.timestamp()
    raise TypeError(f"a stream record holds {type(value).__name__}")


def _is_half(change: Record) -> bool:
    """Return whether *change* has keys alone, as moto emits one before an update that creates an item."""
    return change.get("NewImage") == change["Keys"]


def read(dynamodb: Any, streams: Any, table: str) -> list[Record]:
    """All that the stream of *table* has, in its order."""
    return read_on(streams, table, iterator(dynamodb, streams, table))[0]
