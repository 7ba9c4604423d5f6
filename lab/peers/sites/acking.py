"""How a worker acks items by each tracker that has no queue of its own.

``ack`` returns the ids of the ends that the tracker reported to it. A tracker that reports an end without an
id gets a new one for each report, since nothing shows whether two are one.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit
from uuid import uuid4

from fanin.aws.dynamodb.meter import Meter
from fanin.aws.settings.tracking import Tables
from fanin.cost.meter import UsageMeter
from fanin.tracker import Ack, Tracker
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.events import CompletionEvent
from lab.peers.sites.redis_client import Redis

COUNTER, PENDING, ROWS, BATCH = "left", "pending", "Items", "batch"
TENANT = "peers"
Json = dict[str, Any]
REMOVE = """
if redis.call('SREM', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('SCARD', KEYS[1]) == 0 and 1 or 0
"""


class Acker(Protocol):
    """A tracker, as a worker has it."""

    def ack(self, items: Sequence[int]) -> list[str]:
        """Ack *items*; return the ids of the ends reported."""

    def requested(self) -> dict[str, float]:
        """Return the requests of this worker until now, by kind."""


class RedisAcker:
    """A connection to Redis, which counts its commands itself."""

    def __init__(self, config: Json) -> None:
        self.redis = Redis(config["redis"])

    def requested(self) -> dict[str, float]:
        return {}


class RedisCounter(RedisAcker):
    """``DECR`` for each delivery of an item; the worker that gets 0 reports the end."""

    def ack(self, items: Sequence[int]) -> list[str]:
        return [uuid4().hex for _ in items if self.redis.call("DECR", COUNTER) == 0]


class RedisSet(RedisAcker):
    """A set of the items that are left, and a script; the worker that removes the last reports the end."""

    def ack(self, items: Sequence[int]) -> list[str]:
        return [uuid4().hex for item in items if self.redis.call("EVAL", REMOVE, 1, PENDING, item) == 1]


class TableAcker:
    """A client of DynamoDB, metered."""

    def __init__(self, config: Json) -> None:
        self.client = client_of(config["dynamodb"])
        self.meter = Meter().attach(self.client)
        self.units = UsageMeter().attach(self.client)

    def requested(self) -> dict[str, float]:
        return {"requests": self.meter.totals["requests"], **self.units.usage.units}


class TableCounter(TableAcker):
    """``ADD left -1`` for each delivery of an item; the worker that gets 0 reports the end."""

    def ack(self, items: Sequence[int]) -> list[str]:
        return [uuid4().hex for _ in items if self.one_less() == 0]

    def one_less(self) -> int:
        answer = self.client.update_item(
            TableName=ROWS,
            Key={"pk": {"S": BATCH}, "sk": {"N": "0"}},
            UpdateExpression="ADD #left :one",
            ExpressionAttributeNames={"#left": COUNTER},
            ExpressionAttributeValues={":one": {"N": "-1"}},
            ReturnValues="UPDATED_NEW",
        )
        return int(answer["Attributes"][COUNTER]["N"])


class TableRows(TableAcker):
    """The row of an item becomes done. The end is found by the one process that counts the rows."""

    def ack(self, items: Sequence[int]) -> list[str]:
        for item in items:
            self.client.update_item(
                TableName=ROWS,
                Key={"pk": {"S": BATCH}, "sk": {"N": str(item)}},
                UpdateExpression="SET #state = :done",
                ExpressionAttributeNames={"#state": "state"},
                ExpressionAttributeValues={":done": {"S": "done"}},
            )
        return []


class Fanin(TableAcker):
    """The library: one call for a delivery. A message keeps its id when it is delivered again."""

    def __init__(self, config: Json) -> None:
        super().__init__(config)
        self.tracker = Tracker(DynamoStore(self.client, Tables("Batches", "Pages")))
        self.batch, self.group = config["batch"], config["group"]

    def ack(self, items: Sequence[int]) -> list[str]:
        acks = [Ack(self.batch, self.group, item, item, f"message-{item}") for item in items]
        return [
            CompletionEvent.of(each.batch).event_id for each in self.tracker.ack(TENANT, acks).completions
        ]


class CarlyleAcker:
    """A request to the server of Carlyle's statements."""

    def __init__(self, config: Json) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(config["carlyle"]).netloc, timeout=60)
        self.prefix = config["prefix"]

    def ack(self, items: Sequence[int]) -> list[str]:
        names = [f"{self.prefix[item // 64]}:{item % 64}" for item in items]
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid4().hex}
        self.connection.request("POST", "/v1/acks", json.dumps({"items": names}), headers)
        answer = self.connection.getresponse()
        body = json.loads(answer.read())
        if answer.status != http.client.OK:
            raise RuntimeError(f"{answer.status}: {body}")
        return [uuid4().hex for _ in body["completions"]]

    def requested(self) -> dict[str, float]:
        return {}


KINDS: Mapping[str, Callable[[Json], Acker]] = {
    "redis-counter": RedisCounter,
    "redis-set": RedisSet,
    "table-counter": TableCounter,
    "table-rows": TableRows,
    "fanin": Fanin,
    "carlyle": CarlyleAcker,
}


def acker(kind: str, config: Json) -> Acker:
    """Return the tracker of a worker."""
    return KINDS[kind](config)


def client_of(endpoint: str) -> Any:
    """Return a client of the DynamoDB at *endpoint*."""
    import boto3  # noqa: PLC0415 - the workers of Redis start without it

    session = boto3.Session("local", "local", region_name="us-east-1")
    return session.client("dynamodb", endpoint_url=endpoint)
