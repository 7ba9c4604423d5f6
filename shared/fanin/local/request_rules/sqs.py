"""The rules for requests of SQS."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fanin.local.request_rules.attribute_values import octets
from fanin.local.request_rules.refusal import Refused

QUOTAS = "Amazon SQS message quotas"
BATCH = "Amazon SQS API Reference, SendMessageBatch"
ENTRIES_MAX, BYTES_MAX, ATTRIBUTES_MAX = 10, 1_048_576, 10
DELAY_MAX, INVISIBLE_MAX, WAIT_MAX, RECEIVED_MAX = 900, 43_200, 20, 10
ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
FIFO_ID = re.compile(r"[A-Za-z0-9!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]{1,128}")
# What XML 1.0 calls a character.
UNSENDABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Request = Mapping[str, Any]


def _within(name: str, found: int | None, least: int, most: int) -> None:
    if found is not None and not least <= found <= most:
        detail = f"{name}: {found}, and {least} to {most} are allowed"
        raise Refused("InvalidParameterValue", detail, QUOTAS)


def check_message(message: Request) -> int:
    """Check a message, or an entry of a batch; return its bytes."""
    body = message["MessageBody"]
    if not body:
        raise Refused("MissingParameter", "The message body is empty", QUOTAS)
    if found := UNSENDABLE.search(body):
        raise Refused("InvalidMessageContents", f"The body has the character {found[0]!r}", QUOTAS)
    attributes = message.get("MessageAttributes") or {}
    _within("Message attributes", len(attributes), 0, ATTRIBUTES_MAX)
    _within("DelaySeconds", message.get("DelaySeconds"), 0, DELAY_MAX)
    for name in ("MessageGroupId", "MessageDeduplicationId"):
        if name in message and not FIFO_ID.fullmatch(message[name]):
            raise Refused("InvalidParameterValue", f"{name} is not an id of 1 to 128 characters", QUOTAS)
    return len(body.encode()) + sum(_size(name, each) for name, each in attributes.items())


def _size(name: str, attribute: Request) -> int:
    binary = attribute.get("BinaryValue")
    value = octets(binary) if binary is not None else attribute.get("StringValue", "").encode()
    if not value:
        raise Refused("InvalidParameterValue", f"The message attribute {name!r} is empty", QUOTAS)
    return len(name.encode()) + len(attribute["DataType"].encode()) + len(value)


def check_send(request: Request) -> None:
    """Check a message that is sent alone."""
    _check_bytes(check_message(request))


def check_send_batch(request: Request) -> None:
    """Check the messages that are sent together."""
    _check_entries(request["Entries"])
    _check_bytes(
        sum(check_message(each) for each in request["Entries"]), "AWS.SimpleQueueService.BatchRequestTooLong"
    )


def _check_bytes(found: int, code: str = "InvalidParameterValue") -> None:
    if found > BYTES_MAX:
        raise Refused(
            code, f"Bytes of the messages: {found:,}, and at most {BYTES_MAX:,} are allowed", QUOTAS
        )


def _check_entries(entries: Sequence[Request]) -> None:
    prefix = "AWS.SimpleQueueService."
    if not entries:
        raise Refused(f"{prefix}EmptyBatchRequest", "The batch has no entries", BATCH)
    if len(entries) > ENTRIES_MAX:
        raise Refused(
            f"{prefix}TooManyEntriesInBatchRequest", f"{len(entries)} entries, 10 are allowed", BATCH
        )
    names = [each["Id"] for each in entries]
    for name in names:
        if not ID.fullmatch(name):
            raise Refused(f"{prefix}InvalidBatchEntryId", f"{name!r} is no id of 1 to 80 characters", BATCH)
    if len(set(names)) != len(names):
        raise Refused(f"{prefix}BatchEntryIdsNotDistinct", "Two entries have one id", BATCH)


def check_receive(request: Request) -> None:
    """Check a receive."""
    _within("MaxNumberOfMessages", request.get("MaxNumberOfMessages"), 1, RECEIVED_MAX)
    _within("WaitTimeSeconds", request.get("WaitTimeSeconds"), 0, WAIT_MAX)
    _within("VisibilityTimeout", request.get("VisibilityTimeout"), 0, INVISIBLE_MAX)


def check_batch(request: Request) -> None:
    """Check a batch of deletes or of visibility timeouts."""
    _check_entries(request["Entries"])
    for each in request["Entries"]:
        check_visibility(each)


def check_visibility(request: Request) -> None:
    """Check a visibility timeout."""
    _within("VisibilityTimeout", request.get("VisibilityTimeout"), 0, INVISIBLE_MAX)


OPERATIONS: dict[str, Callable[[Request], None]] = {
    "SendMessage": check_send,
    "SendMessageBatch": check_send_batch,
    "ReceiveMessage": check_receive,
    "DeleteMessageBatch": check_batch,
    "ChangeMessageVisibilityBatch": check_batch,
    "ChangeMessageVisibility": check_visibility,
}
