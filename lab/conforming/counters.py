"""A counter and a set in Redis, and a counter in DynamoDB, as adapters of the cases."""

# ruff: noqa: ARG002 - the suite gives more than a counter takes
from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence
from uuid import uuid4

from fanin_conformance import Adapter, Added, Answer, Completion, Group, NotSupported, Refused, Status
from lab.peers.sites.redis_client import Redis

OPTIONS = ("expected_items", "deadline_seconds", "kept_open_seconds")
REMOVE = """
if redis.call('SREM', KEYS[1], ARGV[1]) == 0 then return -1 end
return redis.call('SCARD', KEYS[1])
"""
ROW = "Counters"


def refuse_options(options: dict[str, object]) -> None:
    """Raise NotSupported for an option that is given."""
    for name in OPTIONS:
        if options.get(name) is not None:
            raise NotSupported(name.replace("_", " "))


def batch_of(item: str) -> str:
    """Return the batch that an item's id names."""
    return item.partition(":")[0]


class Counter(Adapter):
    """What is left of a batch, as a number; the caller that gets 0 reports the end."""

    def open(self, *, user_key: str | None = None, **options: object) -> str:
        refuse_options(options)
        batch = str(uuid4())
        self.write(batch, "key", user_key or "")
        return batch

    def add(self, batch: str, count: int, token: str | None = None) -> Added:
        group = uuid4().hex
        self.change(batch, count)
        return Added((Group(group, count),))

    def close(self, batch: str, token: str | None = None) -> Answer:
        self.write(batch, "closed", "1")
        return self.answer(batch, int(self.row(batch).get("left", 0)))

    def ack(self, items: Sequence[str], token: str | None = None) -> Answer:
        answers = [self.answer(batch_of(item), self.one_less(item)) for item in items]
        return Answer(tuple(completion for answer in answers for completion in answer.completions))

    def status(self, batch: str) -> Status:
        row = self.row(batch)
        if not row:
            raise Refused("not_found")
        is_complete = "closed" in row and int(row.get("left", 0)) <= 0
        return Status("closed" in row, is_complete, is_complete, row.get("key") or None)

    def answer(self, batch: str, outstanding: int) -> Answer:
        """Return the answer of a caller that found *outstanding* items."""
        row = self.row(batch) if outstanding == 0 else {}
        is_complete = "closed" in row
        return Answer((Completion(batch, user_key=row.get("key") or None),) if is_complete else ())

    def one_less(self, item: str) -> int:
        """Count *item* as done; return what is left."""
        return self.change(batch_of(item), -1)

    @abstractmethod
    def write(self, batch: str, name: str, value: str) -> None:
        """Set a field of the batch."""

    @abstractmethod
    def change(self, batch: str, by: int) -> int:
        """Add to what is left, and return it."""

    @abstractmethod
    def row(self, batch: str) -> dict[str, str]:
        """Return the fields of the batch."""


class RedisCounter(Counter):
    """``HINCRBY``; a connection a thread."""

    def __init__(self, url: str | None = None) -> None:
        super().__init__(url)
        self.port, self.threads = int(str(url).rpartition(":")[2]), threading.local()

    @property
    def redis(self) -> Redis:
        """The connection of this thread."""
        if not hasattr(self.threads, "redis"):
            self.threads.redis = Redis(self.port)
        found: Redis = self.threads.redis
        return found

    def write(self, batch: str, name: str, value: str) -> None:
        self.redis.call("HSET", batch, name, value.encode())

    def change(self, batch: str, by: int) -> int:
        return int(self.redis.call("HINCRBY", batch, "left", by))

    def row(self, batch: str) -> dict[str, str]:
        flat = [part.decode() for part in self.redis.call("HGETALL", batch)]
        return dict(zip(flat[::2], flat[1::2], strict=True))


class RedisSet(RedisCounter):
    """A set of the items that are left, and a script that removes one and counts."""

    def add(self, batch: str, count: int, token: str | None = None) -> Added:
        group = uuid4().hex
        ids = [self.item_id(batch, group, at) for at in range(count)]
        for first in range(0, count, 5_000):
            self.redis.call("SADD", f"{batch}:left", *ids[first : first + 5_000])
        return Added((Group(group, count),))

    def one_less(self, item: str) -> int:
        return int(self.redis.call("EVAL", REMOVE, 1, f"{batch_of(item)}:left", item))

    def row(self, batch: str) -> dict[str, str]:
        row = super().row(batch)
        return {**row, "left": str(self.redis.call("SCARD", f"{batch}:left"))} if row else {}


class TableCounter(Counter):
    """``ADD left -1`` on a row of DynamoDB."""

    def __init__(self, url: str | None = None) -> None:
        from lab.peers.sites.acking import client_of  # noqa: PLC0415  # the judge of Redis has no boto3

        super().__init__(url)
        self.client = client_of(str(url))
        if ROW not in self.client.list_tables()["TableNames"]:
            self.client.create_table(
                TableName=ROW,
                AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                BillingMode="PAY_PER_REQUEST",
            )

    def write(self, batch: str, name: str, value: str) -> None:
        self.client.update_item(
            TableName=ROW,
            Key={"pk": {"S": batch}},
            UpdateExpression="SET #name = :value",
            ExpressionAttributeNames={"#name": name},
            ExpressionAttributeValues={":value": {"S": value}},
        )

    def change(self, batch: str, by: int) -> int:
        answer = self.client.update_item(
            TableName=ROW,
            Key={"pk": {"S": batch}},
            UpdateExpression="ADD #left :by",
            ExpressionAttributeNames={"#left": "left"},
            ExpressionAttributeValues={":by": {"N": str(by)}},
            ReturnValues="UPDATED_NEW",
        )
        return int(answer["Attributes"]["left"]["N"])

    def row(self, batch: str) -> dict[str, str]:
        row = self.client.get_item(TableName=ROW, Key={"pk": {"S": batch}}, ConsistentRead=True)
        return {name: next(iter(value.values())) for name, value in row.get("Item", {}).items()}
