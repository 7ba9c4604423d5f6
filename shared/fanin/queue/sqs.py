"""Doorbells on SQS: a queue for each work queue, a message for each ring, received by long polling."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from botocore.exceptions import ClientError

from fanin.aws.calls import send
from fanin.aws.limits import POLL_SECONDS
from fanin.errors import InvalidRequest
from fanin.names import (
    DOORBELL_POLL_SECONDS,
    DOORBELL_RETENTION_SECONDS,
    DOORBELL_VISIBILITY_SECONDS,
    doorbells_of,
)
from fanin.queue.rules.errors import DoorbellMissing
from fanin.queue.rules.keys import QueueKey
from fanin.queue.rules.messages import body, ring_of
from fanin.queue.rules.model import Ring

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MESSAGES_A_REQUEST = 10
DELAY_MAX_SECONDS = 900
HIDDEN_SECONDS = 2
"""How long a ring that a worker has received is hidden from the others, unless the worker deletes it."""
_DELETED = "the doorbell was deleted less than 60 s ago, and SQS refuses its name until then; retry"
_ABSENT = "the doorbell does not exist"
MISSING = {
    "AWS.SimpleQueueService.NonExistentQueue": _ABSENT,
    "QueueDoesNotExist": _ABSENT,
    "AWS.SimpleQueueService.QueueDeletedRecently": _DELETED,
    "QueueDeletedRecently": _DELETED,
}
"""Error codes, without and with SQS's query protocol."""
EXISTS = {"QueueAlreadyExists", "QueueNameExists"}


@dataclass(frozen=True, slots=True)
class SqsDoorbell:
    """The doorbell of *queue*, on the SQS queue at *url*; None where the queue has no doorbell yet.

    A message that is not a ring of *queue* is left alone.
    *polls*: the client that waits for messages, whose read timeout bounds a poll; by default *client*.
    """

    client: SQSClient
    url: str | None
    queue: QueueKey
    polls: SQSClient | None = None

    def at(self, url: str | None) -> Self:
        return replace(self, url=url)

    def ring(self, rings: Sequence[Ring], delay: float = 0.0) -> None:
        seconds = min(DELAY_MAX_SECONDS, math.ceil(delay))
        for some in _tens(rings):
            entries = [
                {"Id": str(i), "MessageBody": body(self.queue, ring), "DelaySeconds": seconds}
                for i, ring in enumerate(some)
            ]
            self._send(entries)

    def wait(self, seconds: float, most: int) -> Sequence[Ring]:
        until = time.monotonic() + seconds
        while True:
            remaining = max(0.0, until - time.monotonic())
            rings = self._receive(min(self._longest_poll(), math.ceil(remaining)), most)
            if rings or time.monotonic() >= until:
                return rings

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def delete(self, rings: Sequence[Ring]) -> None:
        for some in _tens(rings):
            entries = [{"Id": str(i), "ReceiptHandle": ring.receipt} for i, ring in enumerate(some)]
            self._request(self.client.delete_message_batch, Entries=entries)

    def _send(self, entries: list[dict[str, Any]]) -> None:
        """Send; repeat the refused entries once. If one is still refused, the sweep rings later."""
        answer = self._request(self.client.send_message_batch, Entries=entries)
        refused = {failure["Id"] for failure in answer.get("Failed", [])}
        if refused:
            again = [entry for entry in entries if entry["Id"] in refused]
            self._request(self.client.send_message_batch, Entries=again)

    def _receive(self, seconds: int, most: int) -> list[Ring]:
        answer = self._request(
            self._polling.receive_message,
            WaitTimeSeconds=seconds,
            MaxNumberOfMessages=min(MESSAGES_A_REQUEST, most),
            VisibilityTimeout=HIDDEN_SECONDS,
        )
        return [ring for message in answer.get("Messages", []) for ring in self._parsed(message)]

    def _request(self, operation: Callable[..., Any], **request: Any) -> dict[str, Any]:
        """Send a request to the SQS queue. Raises DoorbellMissing where it does not exist."""
        if self.url is None:
            raise DoorbellMissing(f"queue {self.queue.name!r} has no doorbell yet")
        return _send(operation, QueueUrl=self.url, **request)

    def _parsed(self, message: dict[str, Any]) -> Iterator[Ring]:
        """Yield the ring if it is one of this queue; leave any other message for its own worker."""
        with suppress(InvalidRequest):
            yield ring_of(self.queue, message["Body"], message["ReceiptHandle"])

    @property
    def _polling(self) -> SQSClient:
        return self.client if self.polls is None else self.polls

    def _longest_poll(self) -> int:
        """Return the longest poll in seconds, which is shorter than the client's read timeout."""
        return min(POLL_SECONDS, max(1, int(getattr(self._polling.meta.config, "read_timeout", 60)) - 1))


@dataclass(frozen=True, slots=True)
class SqsDoorbells:
    """The doorbells of a stack; *prefix*: what their ARNs begin with.

    *key*: the ARN of the KMS key of those that are created here; empty: SQS has the key. *tags*: their tags.
    """

    client: SQSClient
    prefix: str
    key: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    def create(self, queue: QueueKey) -> str:
        """Return the URL of the stack's doorbell of *queue*; else of its own, created where it is missing."""
        *by_stack, own = self._names(queue)
        for name in by_stack:
            if (url := self._find(name)) is not None:
                return url
        return self._create(own)

    def update(self, queue: QueueKey, url: str) -> None:
        if not self._is_own(queue, url):
            return
        with suppress(DoorbellMissing):
            if self._key_of(url) != self.key:
                attributes = {"KmsMasterKeyId": self.key, **self._encryption()}  # an empty one removes it
                _send(self.client.set_queue_attributes, QueueUrl=url, Attributes=attributes)
            if self.tags:
                _send(self.client.tag_queue, QueueUrl=url, Tags=dict(self.tags))

    def delete(self, queue: QueueKey, url: str) -> None:
        if self._is_own(queue, url):
            with suppress(DoorbellMissing):
                _send(self.client.delete_queue, QueueUrl=url)

    def arn(self, url: str) -> str:
        """Return the ARN of the doorbell at *url*."""
        return f"{self.prefix.rpartition(':')[0]}:{url.rpartition('/')[2]}"

    def _names(self, queue: QueueKey) -> list[str]:
        *_, account, prefix = self.prefix.split(":")
        return doorbells_of(prefix, account, queue.tenant, queue.name)

    def _is_own(self, queue: QueueKey, url: str) -> bool:
        """Return whether the doorbell at *url* was created here, and not by the stack."""
        return url.rpartition("/")[2] == self._names(queue)[-1]

    def _key_of(self, url: str) -> str:
        """Return the KMS key of the SQS queue at *url*; empty if SQS has the key."""
        name = "KmsMasterKeyId"
        answer = _send(self.client.get_queue_attributes, QueueUrl=url, AttributeNames=[name])
        return str(answer.get("Attributes", {}).get(name, ""))

    def _find(self, name: str) -> str | None:
        with suppress(DoorbellMissing):
            url: str = _send(self.client.get_queue_url, QueueName=name)["QueueUrl"]
            return url
        return None

    def _create(self, name: str) -> str:
        """Create an SQS queue; one that has other attributes, for example by an older version, is kept."""
        try:
            response = _send(
                self.client.create_queue,
                QueueName=name,
                Attributes=self._attributes(name),
                **({"tags": dict(self.tags)} if self.tags else {}),
            )
        except ClientError as error:
            if error.response["Error"]["Code"] not in EXISTS:
                raise
            response = _send(self.client.get_queue_url, QueueName=name)
        url: str = response["QueueUrl"]
        return url

    def _attributes(self, name: str) -> dict[str, str]:
        arn = f"{self.prefix.rpartition(':')[0]}:{name}"
        return {
            "VisibilityTimeout": str(DOORBELL_VISIBILITY_SECONDS),
            "MessageRetentionPeriod": str(DOORBELL_RETENTION_SECONDS),
            "ReceiveMessageWaitTimeSeconds": str(DOORBELL_POLL_SECONDS),
            **self._encryption(),
            "Policy": json.dumps({"Version": "2012-10-17", "Statement": [_only_tls(arn)]}),
        }

    def _encryption(self) -> dict[str, str]:
        if not self.key:
            return {"SqsManagedSseEnabled": "true"}
        return {"SqsManagedSseEnabled": "false", "KmsMasterKeyId": self.key}


def _only_tls(arn: str) -> dict[str, Any]:
    """Return the statement that refuses requests without TLS, as the stack's own queues have it."""
    return {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "sqs:*",
        "Resource": arn,
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }


def _send(operation: Callable[..., Any], **request: Any) -> dict[str, Any]:
    """Send a request to SQS. Raises DoorbellMissing where its queue does not exist, or was just deleted."""
    try:
        return send(operation, request)
    except ClientError as error:
        missing = MISSING.get(error.response["Error"]["Code"])
        if missing is None:
            raise
        raise DoorbellMissing(missing) from error


def _tens(rings: Sequence[Ring]) -> Iterator[Sequence[Ring]]:
    for first in range(0, len(rings), MESSAGES_A_REQUEST):
        yield rings[first : first + MESSAGES_A_REQUEST]
