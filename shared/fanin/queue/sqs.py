"""The doorbell on an SQS queue: one message for each ring, received by long polling."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fanin.aws.calls import send
from fanin.aws.limits import POLL_SECONDS
from fanin.errors import InvalidRequest
from fanin.queue.keys import QueueKey
from fanin.queue.messages import body, ring_of
from fanin.queue.model import Ring

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MESSAGES_A_REQUEST = 10
DELAY_MAX_SECONDS = 900


@dataclass(frozen=True, slots=True)
class SqsDoorbell:
    """The doorbell of *queue*, on the SQS queue at *url*.

    If other queues share it, their rings are left alone, and visible again after the visibility timeout.
    *polls*: the client that waits for messages, whose read timeout bounds a poll; by default *client*.
    """

    client: SQSClient
    url: str
    queue: QueueKey
    polls: SQSClient | None = None

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
            left = max(0.0, until - time.monotonic())
            rings = self._receive(min(self._longest_poll(), math.ceil(left)), most)
            if rings or time.monotonic() >= until:
                return rings

    def rest(self, seconds: float) -> None:
        time.sleep(seconds)

    def delete(self, rings: Sequence[Ring]) -> None:
        for some in _tens(rings):
            entries = [{"Id": str(i), "ReceiptHandle": ring.receipt} for i, ring in enumerate(some)]
            send(self.client.delete_message_batch, {"QueueUrl": self.url, "Entries": entries})

    def _send(self, entries: list[dict[str, Any]]) -> None:
        """Send; repeat the refused entries once. The sweep makes up for a ring that is lost then."""
        answer = send(self.client.send_message_batch, {"QueueUrl": self.url, "Entries": entries})
        refused = {failure["Id"] for failure in answer.get("Failed", [])}
        if refused:
            again = [entry for entry in entries if entry["Id"] in refused]
            send(self.client.send_message_batch, {"QueueUrl": self.url, "Entries": again})

    def _receive(self, seconds: int, most: int) -> list[Ring]:
        answer = send(
            self._polling.receive_message,
            {
                "QueueUrl": self.url,
                "WaitTimeSeconds": seconds,
                "MaxNumberOfMessages": min(MESSAGES_A_REQUEST, most),
            },
        )
        return [ring for message in answer.get("Messages", []) for ring in self._parsed(message)]

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


def _tens(rings: Sequence[Ring]) -> Iterator[Sequence[Ring]]:
    for first in range(0, len(rings), MESSAGES_A_REQUEST):
        yield rings[first : first + MESSAGES_A_REQUEST]
