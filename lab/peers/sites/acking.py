"""How a worker acks items by each tracker that has no queue of its own.

``ack`` returns the ids of the ends that the tracker reported to it. A tracker that reports an end without an
id gets a new one for each report, since nothing shows whether two are one.
"""

from __future__ import annotations

import http.client
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from fanin.aws.dynamodb.meter import Meter
from fanin.cost.meter import UsageMeter
from fanin.item_results.s3 import BucketObjects
from fanin.item_results.service import Results
from fanin.pacing import each_in_threads
from fanin.result_texts import result_text
from fanin.settings.tracking import Tables
from fanin.tracker import Ack, Tracker
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.events import CompletionEvent
from lab.peers.log import result_of
from lab.peers.sites.redis_client import Redis

COUNTER, PENDING, ROWS, BATCH, BUCKET = "left", "pending", "Items", "batch", "results"
TENANT = "peers"
Json = dict[str, Any]
REMOVE = """
if redis.call('SREM', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('SCARD', KEYS[1]) == 0 and 1 or 0
"""


class Acker(ABC):
    """A tracker, as a worker has it."""

    @abstractmethod
    def ack(self, items: Sequence[int]) -> list[str]:
        """Ack *items*; return the ids of the ends reported."""

    def requested(self) -> dict[str, float]:
        """Return the requests of this worker until now, by kind."""
        return {}

    def results(self) -> Iterable[int]:
        """Return the item of each result that the end is given."""
        return ()


class RedisAcker(Acker):
    """A connection to Redis, which counts its commands itself."""

    def __init__(self, config: Json) -> None:
        self.redis = Redis(config["redis"])


class RedisCounter(RedisAcker):
    """``DECR`` for each delivery of an item; the worker that gets 0 reports the end."""

    def ack(self, items: Sequence[int]) -> list[str]:
        return [uuid4().hex for _ in items if self.redis.call("DECR", COUNTER) == 0]


class RedisSet(RedisAcker):
    """A set of the items that are left, and a script; the worker that removes the last reports the end."""

    def ack(self, items: Sequence[int]) -> list[str]:
        return [uuid4().hex for item in items if self.redis.call("EVAL", REMOVE, 1, PENDING, item) == 1]


class TableAcker(Acker):
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
        self.objects = client_of(config["dynamodb"], "s3")
        self.units.attach(self.objects)
        self.tracker = fanin_tracker(self.client, self.objects)
        self.batch, self.group, self.size = config["batch"], config["group"], config["results"]

    def results(self) -> Iterator[int]:
        if self.size:
            batch, results = self.tracker.get(TENANT, self.batch), results_on(self.objects)
            index = results.gathered(batch, self.tracker.store)
            assert index is not None
            yield from (value["item"] for _, value in results.read(index))

    def ack(self, items: Sequence[int]) -> list[str]:
        acks = [
            Ack(self.batch, self.group, item, item, f"message-{item}", result=self._result(item))
            for item in items
        ]
        return [
            CompletionEvent.of(each.batch).event_id for each in self.tracker.ack(TENANT, acks).completions
        ]

    def _result(self, item: int) -> str | None:
        return result_text(result_of(item, self.size)) if self.size else None


class CarlyleAcker(Acker):
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


def fanin_tracker(client: Any, objects: Any) -> Tracker:
    """Return the tracker over clients of DynamoDB and S3."""
    store = DynamoStore(client, Tables("Batches", "Pages"))
    return Tracker(store, results=results_on(objects), each=each_in_threads)


def results_on(objects: Any) -> Results:
    """Return the results that a client of S3 reads."""
    return Results(BucketObjects(objects, BUCKET), each_in_threads)


def with_objects(requested: Mapping[str, float]) -> dict[str, float]:
    """Return *requested* with the requests to S3 among its requests."""
    of_objects = sum(requested.get(kind, 0) for kind in ("object_write", "object_read"))
    return {**requested, "requests": requested["requests"] + of_objects}


def client_of(endpoint: str, service: str = "dynamodb") -> Any:
    """Return a client of *service* at *endpoint*."""
    import boto3  # noqa: PLC0415 - the workers of Redis start without it

    session: Any = boto3.Session("local", "local", region_name="us-east-1")
    return session.client(service, endpoint_url=endpoint)
