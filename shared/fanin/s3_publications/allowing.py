"""Which sources a stack publishes to which queues, and for whom. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fanin.errors import InvalidRequest
from fanin.grouper.settings.endpoints import matched
from fanin.s3_publications.model import QUEUE_ARN, Order, check_pace

# Without what is a wildcard or a variable in a policy of IAM.
BEGINNING = r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[\x20-\x23\x25-\x29\x2b-\x3e\x40-\x5b\x5d-\x7e]{0,1024}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """Objects whose URI begins with *source* may be published to *queue*, an ARN.

    *tenants*: of those that may; empty for the tenant of the account. *on_created*: whether an object is
    published as soon as it is created, in messages of *chunk* rows, about *rate* a second.
    """

    source: str
    queue: str
    tenants: tuple[str, ...] = ()
    on_created: bool = False
    chunk: int | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        takes = "s3://BUCKET/ or s3://BUCKET/PREFIX, in printable ASCII without * ? $ and \\"
        matched("source", self.source, BEGINNING, takes)
        matched("queue", self.queue, QUEUE_ARN, "the ARN of a standard queue of SQS")
        check_pace(self.chunk, self.rate)
        if not self.on_created and (self.chunk or self.rate):
            raise InvalidRequest("chunk and rate are of an entry with onCreated", field="onCreated")
        if self.on_created and len(self.tenants) > 1:
            raise InvalidRequest("an object that is created is published for one tenant", field="tenants")

    @property
    def objects(self) -> tuple[str, str]:
        """Return the bucket, and how the keys begin."""
        bucket, _, prefix = self.source.removeprefix("s3://").partition("/")
        return bucket, prefix

    def allows(self, order: Order, own: str) -> bool:
        """Whether *order* may be carried out; *own*: the tenant of the account."""
        return self.names(order, own) and order.queue == self.queue

    def names(self, order: Order, own: str) -> bool:
        """Whether the source of *order* may be published, to some queue."""
        return order.tenant in (self.tenants or (own,)) and order.source.startswith(self.source)

    def overlaps(self, other: Allowed) -> bool:
        """Whether an object that is created may be published by both to the same queue."""
        near = self.source.startswith(other.source) or other.source.startswith(self.source)
        return self.on_created and other.on_created and near and self.queue == other.queue


def check_allowed(order: Order, allowed: Iterable[Allowed], own: str) -> None:
    """Raise InvalidRequest unless one of *allowed* lets this order be carried out."""
    of_source = [each for each in allowed if each.names(order, own)]
    if not any(each.allows(order, own) for each in of_source):
        raise InvalidRequest(
            f"this deployment publishes no {order.source} to {order.queue} for your tenant: its setting"
            " publications names the sources and their queues",
            field="queue" if of_source else "source",
        )


def orders_of(source: str, allowed: Iterable[Allowed], own: str) -> list[Order]:
    """Return what is published of the object *source* when it is created; *own*: the account's tenant.

    Raises InvalidRequest if an entry names it, and it cannot be published.
    """
    return [
        Order((each.tenants or (own,))[0], source, each.queue, each.chunk, each.rate)
        for each in allowed
        if each.on_created and source.startswith(each.source)
    ]
