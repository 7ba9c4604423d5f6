"""Which dead-letter messages are worth another try: what each one names, and what its batch says. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fanin.aws.messaging.kept_messages import size_of
from fanin.client.consuming.chunks import chunk_of, range_of
from fanin.client.consuming.records import item_id_of
from fanin.client.items import Items
from fanin.errors import InvalidRequest
from fanin.tracker import ItemId, State
from fanin.tracker.reads.window import WINDOW_MAX
from fanin.tracker.rules.model import ALIVE

OWN = "fanin."
"""Begins the names of the attributes that a kept message has beside those of its user."""
KEPT_ITEM, KEPT_GROUP = "fanin.itemId", "fanin.messageGroupId"


class LeaveReason(StrEnum):
    """Why a message is left in its queue."""

    NO_ITEM = "names no item"
    OTHER_BATCH = "of another batch"
    UNKNOWN = "its batch or group is not found"
    ENDED = "its batch has ended"
    ESTIMATED = "its batch is estimated and does not know its items"
    DONE = "its items are done"
    NO_SOURCE = "no source queue is known"
    NO_GROUP = "no message group for a FIFO queue"
    AGAIN = "was moved before and is dead again"
    REFUSED = "was not taken by SQS"


@dataclass(frozen=True, slots=True)
class DeadLetterMessage:
    """A message of a dead-letter queue as ``receive_message`` returns it."""

    message: Mapping[str, Any]

    @property
    def id(self) -> str:
        return str(self.message["MessageId"])

    @property
    def body(self) -> str:
        return str(self.message["Body"])

    @property
    def receipt(self) -> str:
        return str(self.message["ReceiptHandle"])

    @property
    def size(self) -> int:
        """Return the bytes of its body and attributes."""
        return len(self.body.encode()) + sum(size_of(*named) for named in self._attributes.items())

    @property
    def source_arn(self) -> str | None:
        """The ARN of the queue that it comes from, which SQS adds when it moves a message."""
        return self._system.get("DeadLetterQueueSourceArn")

    @property
    def group(self) -> str | None:
        """The message group, of a FIFO queue or a fair one."""
        kept = self._attributes.get(KEPT_GROUP, {}).get("StringValue")
        return self._system.get("MessageGroupId") or kept

    def items(self) -> Items | None:
        """Return the items that it names: one, or the range of a chunk; None if it names none."""
        try:
            return self._named()
        except InvalidRequest:
            return None

    def entry(self, number: int, is_fifo: bool) -> dict[str, Any]:
        """Return the entry that sends it as it was, with an id for deduplication that is of this copy alone.

        The id that it was first sent with could be one that the queue has seen less than five minutes ago. A
        message that had no group has that of its batch.
        """
        named = {name: value for name, value in self._attributes.items() if not name.startswith(OWN)}
        entry: dict[str, Any] = {"Id": str(number), "MessageBody": self.body}
        if named:
            entry["MessageAttributes"] = named
        items = self.items()
        group = self.group or (items.batch_id if items is not None else None)
        if group is not None:
            entry["MessageGroupId"] = group
        return entry | ({"MessageDeduplicationId": f"redrive-{self.id}"} if is_fifo else {})

    def _named(self) -> Items:
        kept = self._attributes.get(KEPT_ITEM, {}).get("StringValue")
        record = {"body": self.body, "messageId": self.id, "messageAttributes": self._as_delivered()}
        try:
            return chunk_of(record).items
        except InvalidRequest:
            item = ItemId.parse(kept or item_id_of(record))
        return range_of(f"{item}-{item.index}")

    def _as_delivered(self) -> dict[str, Any]:
        texts = {name: value.get("StringValue") for name, value in self._attributes.items()}
        return {name: {"stringValue": text} for name, text in texts.items() if text is not None}

    @property
    def _attributes(self) -> Mapping[str, Any]:
        return self.message.get("MessageAttributes") or {}

    @property
    def _system(self) -> Mapping[str, str]:
        return self.message.get("Attributes") or {}


@dataclass(frozen=True, slots=True)
class Standing:
    """What the tracker says of the items of a message: the *state* of the batch, None if there is none.

    *unsuccessful*: the ranges of a window around them that are outstanding or failed; None if they are not
    known, *is_known* being whether the group is one of the batch.
    """

    state: State | None
    unsuccessful: Sequence[Items] | None = None
    is_known: bool = True


def reason_to_leave(
    items: Items | None, batch_id: str | None, standing: Standing | None
) -> LeaveReason | None:
    """Return why a message of *items* stays, or None if it is to be moved.

    It is moved if one of its items is outstanding or failed in a live batch. *batch_id*: the only batch whose
    messages are moved; *standing*: of its items, None where it is not needed.
    """
    if items is None:
        return LeaveReason.NO_ITEM
    if batch_id is not None and items.batch_id != batch_id:
        return LeaveReason.OTHER_BATCH
    if standing is None or standing.state is None or not standing.is_known:
        return LeaveReason.UNKNOWN
    if standing.state not in ALIVE:
        return LeaveReason.ENDED
    if standing.unsuccessful is None:
        return LeaveReason.ESTIMATED
    return (
        None
        if any(_overlap(items.indexes, part.indexes) for part in standing.unsuccessful)
        else LeaveReason.DONE
    )


def windows(ranges: Iterable[Items]) -> list[Items]:
    """Return as few ranges of at most 10,000 items as contain all of *ranges*, each of which fits in one."""
    found: list[Items] = []
    for items in sorted(set(ranges), key=lambda each: (each.batch_id, each.group_id, each.indexes.start)):
        first = found[-1] if found else items
        last = max(first.indexes[-1], items.indexes[-1])
        is_near = (first.batch_id, first.group_id) == (items.batch_id, items.group_id)
        if found and is_near and last - first.indexes[0] < WINDOW_MAX:
            found[-1] = Items.between(items.batch_id, items.group_id, first.indexes[0], last)
        else:
            found.append(items)
    return found


def _overlap(some: range, others: range) -> bool:
    return some.start < others.stop and others.start < some.stop
