"""The way from the client to the tracker: over HTTP, or straight on the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from fanin.client.items import Items
from fanin.client.model import AckReport, Closed, Status
from fanin.tracker import OpenBatch

T = TypeVar("T")
ITEMS_A_REQUEST = 1000


class Transport(Protocol):
    """One method a call of the API, safe in many threads; all raise the errors of ``fanin.errors`` alike.

    *key* is the idempotency key: the same call with the same key is one call.
    """

    def open(self, wish: OpenBatch, key: str) -> str:
        """The id of the batch."""

    def get(self, batch_id: str) -> Status: ...

    def add(self, batch_id: str, count: int, key: str) -> Items: ...

    def close(self, batch_id: str, key: str) -> Closed: ...

    def ack(self, items: Sequence[str], callers: Sequence[str]) -> AckReport:
        """Ack 1 to 1,000 items, each in the name of its caller: a message id, or one key for all."""


def requests_of(acks: Sequence[T]) -> Iterator[Sequence[T]]:
    """*acks* cut into what one request takes."""
    for first in range(0, len(acks), ITEMS_A_REQUEST):
        yield acks[first : first + ITEMS_A_REQUEST]
