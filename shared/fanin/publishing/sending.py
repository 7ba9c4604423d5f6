"""Sends messages to SQS, and refused entries again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from fanin.client.consuming.chunks import chunk_of
from fanin.client.items import Items
from fanin.errors import FaninError
from fanin.pacing import ATTEMPTS
from fanin.publishing.packing import Message

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

Sleep = Callable[[float], None]
NOTHING: Mapping[str, Any] = {}


class SendFailed(FaninError):
    """SQS refused *messages* on every attempt, or for what a retry cannot fix; all others were sent."""

    def __init__(self, detail: str, messages: Sequence[Message] = ()) -> None:
        super().__init__(detail)
        self.messages = tuple(messages)

    @property
    def items(self) -> tuple[Items, ...]:
        """Return the items of the messages, to send them again."""
        return tuple(chunk_of({"messageId": "", "body": each.body}).items for each in self.messages)


class SendRefused(SendFailed):
    """SQS refused *messages* for what a retry cannot fix, such as one that is too long for the queue."""


def send(
    client: SQSClient,
    url: str,
    batch: Sequence[Message],
    pauses: Iterable[float],
    sleep: Sleep,
    group: str | None = None,
    more: Mapping[str, Any] = NOTHING,
) -> int:
    """Send *batch*, and refused entries again after each pause; return how many were sent again.

    *group*: of all messages, so that SQS shares the consumers of a queue among groups. Default: their batch.
    *more*: fields of each entry. Raises SendFailed, SendRefused.
    """
    entries = _entries(batch, group, more, is_fifo=url.endswith(".fifo"))
    repeats = 0
    for pause in pauses:
        failed = client.send_message_batch(QueueUrl=url, Entries=entries).get("Failed", [])
        if not failed:
            return repeats
        again = {entry["Id"] for entry in failed}
        unsent = [batch[int(number)] for number in again]
        _refuse(failed, unsent)
        entries = [entry for entry in entries if entry["Id"] in again]
        repeats += len(entries)
        sleep(pause)
    raise SendFailed(f"{len(entries)} messages failed {ATTEMPTS} times: {failed[0].get('Message')}", unsent)


def _entries(
    batch: Sequence[Message], group: str | None, more: Mapping[str, Any], *, is_fifo: bool
) -> list[Any]:
    """Return an entry for each message; a FIFO queue deduplicates by body."""
    entries: list[Any] = [
        {"Id": str(n), "MessageBody": m.body, "MessageGroupId": group or m.batch_id, **more}
        | ({"MessageAttributes": m.attributes} if m.carried else {})
        for n, m in enumerate(batch)
    ]
    for entry in entries if is_fifo else ():
        entry["MessageDeduplicationId"] = sha256(entry["MessageBody"].encode()).hexdigest()
    return entries


def _refuse(failed: Sequence[Any], unsent: Sequence[Message]) -> None:
    """Raise SendRefused if SQS reports an entry as the sender's fault, which a retry cannot fix."""
    for entry in failed:
        if entry["SenderFault"]:
            raise SendRefused(f"SQS refuses a message: {entry['Code']} {entry.get('Message', '')}", unsent)
