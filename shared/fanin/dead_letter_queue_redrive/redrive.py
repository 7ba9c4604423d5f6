"""Moves dead-letter messages back to the queue they came from: those whose items can still be done.

A message is sent before it is deleted, and one whose send was not confirmed is not deleted: a crash leaves
two copies, and never none. Messages that are left stay hidden until the end, so that each is looked at once;
then they are visible again. What is moved and dies again during the run is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from fanin.aws.calls import send
from fanin.client.items import Items
from fanin.client.transports.transport import Transport
from fanin.dead_letter_queue_redrive.dead_letter_messages import (
    DeadLetterMessage,
    LeaveReason,
    Standing,
    reason_to_leave,
    windows,
)
from fanin.dead_letter_queue_redrive.source_queues import Sources
from fanin.errors import Conflict, FaninError, InvalidRequest, NotFound
from fanin.publishing.packing import batches
from fanin.tracker import State

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


RECEIVED = 10
HIDDEN_SECONDS = 600
"""How long a message is hidden: it is sent, or released, long before."""
WAIT_SECONDS = 1
EMPTY_RECEIVES = 2
"""Receives in a row without a new message, after which the queue was seen whole."""
DELETES = 3
"""Requests to delete a message that was sent, before it counts as a second copy."""
SEEN_MAX = 100_000
"""Messages that are left hidden in a run at most: SQS allows 120,000 to be in flight."""


@dataclass(frozen=True, slots=True)
class RedriveRequest:
    """What to move from the queue at *url*. *to*: the URL of another target than the source of each message.

    *batch_id*: only of this batch. *is_dry_run*: count, and move nothing.
    """

    url: str
    to: str | None = None
    batch_id: str | None = None
    is_dry_run: bool = False


@dataclass(slots=True)
class Redriven:
    """How many messages were *moved*, *not_moved* by reason, and *unseen* because no more were received.

    In a dry run *moved* are those that would be.

    A FIFO queue gives no more messages of a group while those before them are hidden. *copies*: of those that
    were moved, how many SQS did not delete, so that they are in both queues.
    """

    moved: int = 0
    not_moved: Counter[LeaveReason] = field(default_factory=Counter)
    unseen: int = 0
    copies: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether the queue had no message."""
        return not self.moved + self.not_moved.total() + self.unseen


@dataclass(slots=True)
class Redrive:
    """One run over a dead-letter queue."""

    sqs: SQSClient
    transport: Transport
    request: RedriveRequest
    report: Callable[[Redriven], object] = lambda _: None
    result: Redriven = field(default_factory=Redriven)
    _sources: Sources = field(init=False)
    _seen: set[str] = field(default_factory=set)
    _sent: set[str] = field(default_factory=set)
    _hidden: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.request.to == self.request.url:
            raise InvalidRequest(
                "the target is the dead-letter queue itself; name another with --to", field="to"
            )
        self._sources = Sources(self.sqs, self.request.url, self.request.to)

    def run(self) -> Redriven:
        """Look at each message of the queue once, and move those that can be done; return the counts."""
        try:
            for found in self._received():
                self._handle(found)
                self.report(self.result)
            self.result.unseen = self._waiting()
        finally:
            self._release()
        return self.result

    def _received(self) -> Iterator[list[DeadLetterMessage]]:
        """Yield new messages, until receives bring none."""
        empty = 0
        while empty < EMPTY_RECEIVES and len(self._hidden) < SEEN_MAX:
            found = [DeadLetterMessage(message) for message in self._receive()]
            self._hidden |= {each.id: each.receipt for each in found}
            new = [each for each in found if each.id not in self._seen]
            self._seen |= {each.id for each in new}
            empty = 0 if new else empty + 1
            if new:
                yield new

    def _receive(self) -> Sequence[Mapping[str, Any]]:
        asked = {
            "QueueUrl": self.request.url,
            "MaxNumberOfMessages": RECEIVED,
            "VisibilityTimeout": HIDDEN_SECONDS,
            "WaitTimeSeconds": WAIT_SECONDS,
            "AttributeNames": ["All"],
            "MessageAttributeNames": ["All"],
        }
        messages: Sequence[Mapping[str, Any]] = send(self.sqs.receive_message, asked).get("Messages", [])
        return messages

    def _handle(self, found: Sequence[DeadLetterMessage]) -> None:
        standings = self._standings(each.items() for each in found)
        moved: dict[str, list[DeadLetterMessage]] = {}
        for message in found:
            reason, target = self._reason(message, standings)
            if reason is not None or target is None:
                self.result.not_moved[reason or LeaveReason.NO_SOURCE] += 1
            else:
                moved.setdefault(target, []).append(message)
        for target, messages in moved.items():
            self._move(target, messages)

    def _reason(
        self, message: DeadLetterMessage, standings: Mapping[Items, Standing]
    ) -> tuple[LeaveReason | None, str | None]:
        """Return why *message* is left, or None and the URL of its target."""
        if message.id in self._sent:
            return LeaveReason.AGAIN, None
        items = message.items()
        standing = standings.get(items) if items is not None else None
        reason = reason_to_leave(items, self.request.batch_id, standing)
        target = self._sources.of(message) if reason is None else None
        if target is not None and target.endswith(".fifo") and message.group is None:
            return LeaveReason.NO_GROUP, None
        return reason, target

    def _standings(self, named: Iterable[Items | None]) -> dict[Items, Standing]:
        """Return what the tracker says of each range of items, by one read for neighbours."""
        wanted = [
            each for each in named if each is not None and self.request.batch_id in {None, each.batch_id}
        ]
        states = {batch_id: self._state(batch_id) for batch_id in {each.batch_id for each in wanted}}
        around = [(window, self._standing(window, states[window.batch_id])) for window in windows(wanted)]
        return {
            items: next(standing for window, standing in around if items[0] in window and items[-1] in window)
            for items in wanted
        }

    def _state(self, batch_id: str) -> State | None:
        try:
            return self.transport.poll(batch_id)
        except NotFound:
            return None

    def _standing(self, window: Items, state: State | None) -> Standing:
        indexes = window.indexes
        try:
            unsuccessful = self.transport.outstanding_of(
                window.batch_id, window.group_id, indexes[0], indexes[-1], failed=True
            )
        except Conflict:  # an estimated batch
            return Standing(state)
        except (NotFound, InvalidRequest):
            return Standing(state, is_known=False)
        return Standing(state, unsuccessful)

    def _move(self, target: str, messages: Sequence[DeadLetterMessage]) -> None:
        if self.request.is_dry_run:
            self.result.moved += len(messages)
            return
        for part in batches(messages):
            sent = self._send(target, part)
            self.result.moved += len(sent)
            self.result.not_moved += Counter({LeaveReason.REFUSED: len(part) - len(sent)})
            self._delete(sent)

    def _send(self, target: str, part: Sequence[DeadLetterMessage]) -> list[DeadLetterMessage]:
        """Send *part* and return the messages that SQS confirmed."""
        is_fifo = target.endswith(".fifo")
        entries = [message.entry(number, is_fifo) for number, message in enumerate(part)]
        answer = send(self.sqs.send_message_batch, {"QueueUrl": target, "Entries": entries})
        confirmed = answer.get("Successful", [])
        self._sent |= {each["MessageId"] for each in confirmed}
        return [part[int(each["Id"])] for each in confirmed]

    def _delete(self, sent: Sequence[DeadLetterMessage]) -> None:
        """Delete *sent*; one that SQS does not delete is visible again later, as a second copy."""
        undeleted = sent
        for _ in range(DELETES):
            entries = [{"Id": str(n), "ReceiptHandle": each.receipt} for n, each in enumerate(undeleted)]
            if not entries:
                break
            answer = send(self.sqs.delete_message_batch, {"QueueUrl": self.request.url, "Entries": entries})
            undeleted = [undeleted[int(each["Id"])] for each in answer.get("Failed", ())]
        self.result.copies += len(undeleted)
        for each in sent:
            del self._hidden[each.id]

    def _waiting(self) -> int:
        """Return how many messages are visible, though none can be received."""
        asked = {"QueueUrl": self.request.url, "AttributeNames": ["ApproximateNumberOfMessages"]}
        answer = send(self.sqs.get_queue_attributes, asked)
        return int(answer["Attributes"]["ApproximateNumberOfMessages"])

    def _release(self) -> None:
        """Make what is left visible again; after a failed request, that happens at the timeout."""
        entries = [
            {"Id": str(n), "ReceiptHandle": receipt, "VisibilityTimeout": 0}
            for n, receipt in enumerate(self._hidden.values())
        ]
        change = partial(send, self.sqs.change_message_visibility_batch)
        for first in range(0, len(entries), RECEIVED):
            try:
                change({"QueueUrl": self.request.url, "Entries": entries[first : first + RECEIVED]})
            except FaninError:
                return
