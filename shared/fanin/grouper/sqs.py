"""Sends to both queues on SQS, ten messages a request; failed entries are sent again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fanin.aws.calls import send
from fanin.errors import StoreUnavailable
from fanin.grouper.rules.messages import Posting, TaskMessage

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MESSAGES_A_REQUEST = 10
SEND_ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class SqsQueue:
    """Sends task messages to one queue and bundle messages to the other, by their URLs."""

    client: SQSClient
    tasks_url: str
    bundles_url: str
    pause: Callable[[float], None] = time.sleep

    def send(self, postings: Sequence[Posting]) -> None:
        """Send all *postings*; raise StoreUnavailable if some may not have been sent."""
        of_tasks = [posting for posting in postings if isinstance(posting.message, TaskMessage)]
        of_bundles = [posting for posting in postings if not isinstance(posting.message, TaskMessage)]
        for url, some in ((self.tasks_url, of_tasks), (self.bundles_url, of_bundles)):
            for first in range(0, len(some), MESSAGES_A_REQUEST):
                self._send(url, some[first : first + MESSAGES_A_REQUEST])

    def _send(self, url: str, postings: list[Posting]) -> None:
        """Send at most ten messages, and those again that a successful response names as failed."""
        remaining = [_entry(number, posting) for number, posting in enumerate(postings)]
        for attempt in range(SEND_ATTEMPTS):
            answer = send(self.client.send_message_batch, {"QueueUrl": url, "Entries": remaining})
            failed = {failure["Id"] for failure in answer.get("Failed", [])}
            remaining = [entry for entry in remaining if entry["Id"] in failed]
            if not remaining:
                return
            self.pause(FIRST_PAUSE_SECONDS * 2**attempt)
        raise StoreUnavailable("the queue did not accept every message; retry later")


def _entry(number: int, posting: Posting) -> dict[str, Any]:
    message = posting.message
    return {
        "Id": str(number),
        "MessageBody": message.body(),
        "DelaySeconds": posting.delay,
        "MessageGroupId": message.group,
    }
