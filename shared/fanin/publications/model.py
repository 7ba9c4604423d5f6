"""What is published, how far it is, and which sources and queues a stack allows. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from fanin.errors import InvalidRequest
from fanin.grouper.settings.endpoints import ACCOUNT, matched

SOURCE = r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[\x20-\x7e]{0,1024}"
QUEUE_ARN = rf"arn:aws[a-z-]*:sqs:{ACCOUNT}:[A-Za-z0-9_-]{{1,80}}"
SUFFIXES = (".jsonl", ".ndjson")
ROWS_A_PART = 10_000
MESSAGES_A_PART = 2_000
SECONDS_A_PART = 20
RATE_MIN = 1.0


@dataclass(frozen=True, slots=True)
class Allowed:
    """Objects whose URI begins with *source* may be published to *queue*, an ARN.

    *tenants*: of those that may; empty for the tenant of the account.
    """

    source: str
    queue: str
    tenants: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        matched("source", self.source, SOURCE, "s3://BUCKET/ or s3://BUCKET/PREFIX, in printable ASCII")
        matched("queue", self.queue, QUEUE_ARN, "the ARN of a standard queue of SQS")

    @property
    def objects(self) -> tuple[str, str]:
        """Return the bucket, and how the keys begin."""
        bucket, _, prefix = self.source.removeprefix("s3://").partition("/")
        return bucket, prefix

    def allows(self, order: Order, own: str) -> bool:
        """Whether *order* may be carried out; *own*: the tenant of the account."""
        of_tenant = order.tenant in (self.tenants or (own,))
        return of_tenant and order.source.startswith(self.source) and order.queue == self.queue


@dataclass(frozen=True, slots=True)
class Order:
    """What to publish: the object *source*, to *queue*, an ARN, for *tenant*.

    *chunk* rows in a message (None: one), at most *rate* messages a second. *batch_id* and *etag* are known
    once its batch is open.
    """

    tenant: str
    source: str
    queue: str
    chunk: int | None = None
    rate: float | None = None
    group: str | None = None
    batch_id: str = ""
    etag: str = ""

    def __post_init__(self) -> None:
        matched("source", self.source, SOURCE, "s3://BUCKET/KEY, in printable ASCII")
        if not self.source.lower().endswith(SUFFIXES):
            names = " or ".join(SUFFIXES)
            raise InvalidRequest(f"the key of source ends with {names}: it is JSON lines", field="source")

    @property
    def object(self) -> tuple[str, str]:
        """Return the bucket and the key."""
        bucket, _, key = self.source.removeprefix("s3://").partition("/")
        return bucket, key

    @property
    def part_rows(self) -> int:
        """Return the most rows of a part, which a function sends within its time."""
        at_rate = MESSAGES_A_PART if self.rate is None else int(self.rate * SECONDS_A_PART)
        return min(ROWS_A_PART, min(at_rate, MESSAGES_A_PART) * (self.chunk or 1))

    def message(self) -> str:
        """Return the body of the message that continues it."""
        return json.dumps({"publication": asdict(self)}, sort_keys=True)

    @classmethod
    def parse(cls, body: str) -> Order:
        """Return the order in the *body* of a message. Raises InvalidRequest."""
        try:
            given: dict[str, Any] = json.loads(body)["publication"]
            return cls(**{each.name: given[each.name] for each in fields(cls)})
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidRequest(f"the message is no publication: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Place:
    """How far a publication is: *read* of *size* bytes, with *rows* in *parts*, up to the line *line*."""

    size: int
    read: int = 0
    rows: int = 0
    parts: int = 0
    line: int = 0


def check_allowed(order: Order, allowed: Iterable[Allowed], own: str) -> None:
    """Raise InvalidRequest unless one of *allowed* lets this order be carried out."""
    if not any(each.allows(order, own) for each in allowed):
        raise InvalidRequest(
            f"this deployment publishes no {order.source} to {order.queue} for your tenant: its setting"
            " publications names the sources and their queues",
            field="source",
        )
