"""The dead-letter queues of a local run that hold messages, for the commands that wait for batches."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

LOOK_SECONDS = 15.0
"""How long after a look at the queues there is no other one."""


@dataclass(slots=True)
class DeadLetterNotes:
    """Names each dead-letter queue that holds messages, and again when it holds more.

    *sqs*: makes the client of the run's SQS. *option*: of the command that shows which messages are of use.
    """

    sqs: Callable[[], Any]
    option: str = ""
    now: Callable[[], float] = time.monotonic
    _client: Any = None
    _next: float | None = None
    _shown: dict[str, int] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """Yield what to show by now; nothing if SQS does not answer."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # it takes 0.3 s

        if self._next is not None and self.now() < self._next:
            return
        self._next = self.now() + LOOK_SECONDS
        self._client = self._client or self.sqs()
        with suppress(BotoCoreError, ClientError):
            for name, count in held(self._client).items():
                if count > self._shown.get(name, 0):
                    yield self._line(name, count)
                self._shown[name] = count

    def _line(self, name: str, count: int) -> str:
        holds = "holds 1 message" if count == 1 else f"holds {count:,} messages"
        return f"the dead-letter queue {name} {holds}; see: fanin redrive {name}{self.option} --dry-run"


def held(sqs: Any) -> Mapping[str, int]:
    """Return how many messages each dead-letter queue holds, by its name."""
    pages = sqs.get_paginator("list_queues").paginate()
    urls = [url for page in pages for url in page.get("QueueUrls", ())]
    facts = {
        url: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"] for url in urls
    }
    policies = [json.loads(each["RedrivePolicy"]) for each in facts.values() if each.get("RedrivePolicy")]
    dead = {policy["deadLetterTargetArn"] for policy in policies}
    counts = {each["QueueArn"]: int(each["ApproximateNumberOfMessages"]) for each in facts.values()}
    return {arn.rpartition(":")[2]: counts[arn] for arn in sorted(dead & counts.keys())}
