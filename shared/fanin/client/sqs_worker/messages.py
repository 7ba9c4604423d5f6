"""A message in flight, and the ports of a worker: its queue, and what performs the work."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fanin.client.consuming.ordering import is_in_order
from fanin.client.handing_over.under_work import Delivery
from fanin.isolating import Record, receives

RECEIVED_MAX = 10
"""Messages of a receive, and entries of a request about several, at most."""
HIDDEN_MAX_SECONDS = 12 * 3600
"""SQS hides a message for at most 12 hours from its receipt."""


@dataclass(eq=False, slots=True)
class Message:
    """A message that this worker received and has not deleted or returned.

    *received_at*, *until*: when the worker asked for it, and when it may be visible again, on the worker's
    clock. *is_lost*: another worker may have it. *outcome*: of its work. *calls*: its calls under work.
    """

    record: Record
    received_at: float
    until: float
    is_lost: bool = False
    outcome: Any = None
    calls: Delivery = field(default_factory=Delivery)

    @property
    def id(self) -> str:
        return str(self.record["messageId"])

    @property
    def receipt(self) -> str:
        return str(self.record["receiptHandle"])

    @property
    def receives(self) -> int:
        return receives(self.record)

    @property
    def group(self) -> str | None:
        """The message group in a FIFO queue; None in any other queue."""
        attributes = self.record.get("attributes") or {}
        return str(attributes.get("MessageGroupId", "")) if is_in_order(self.record) else None


class Source(Protocol):
    """An SQS queue. Its calls raise StoreUnavailable if they may be repeated; other errors are final."""

    @property
    def name(self) -> str: ...

    def receive(self, most: int, wait: int, visibility: int | None) -> Sequence[Record]:
        """Return up to *most* messages, after *wait* seconds at the latest, hidden for *visibility* seconds.

        None: for the visibility timeout of the queue.
        """

    def delete(self, receipts: Sequence[str]) -> Collection[str]:
        """Delete up to ten messages; return the receipt handles that SQS refused."""

    def hide(self, receipts: Sequence[str], seconds: int) -> Collection[str]:
        """Hide up to ten messages for *seconds* from now; return the receipt handles that SQS refused."""


class Performer(Protocol):
    """Does the work of messages, and settles it."""

    def perform(self, messages: Sequence[Message]) -> Sequence[Any]:
        """Work on messages that were started together; return an outcome for each."""

    async def perform_in_task(self, message: Message) -> Any:
        """Work on a message in a task of asyncio; return its outcome."""

    def settle(self, messages: Sequence[Message]) -> Collection[str]:
        """Ack what was worked on; return the ids of the messages that return to the queue."""


@dataclass(frozen=True, slots=True)
class WorkSummary:
    """What a worker did: messages *deleted* after their acks, and *returned* to the queue after their work.

    *released*: that were made visible again at once, because their work had not begun at the stop, or had
    not ended in time; the latter are *unfinished*. *lost*: whose visibility timeout ended in the worker.
    *interrupted*: whether Ctrl-C stopped it.
    """

    deleted: int
    returned: int
    released: int
    lost: int
    unfinished: int
    interrupted: bool = False
