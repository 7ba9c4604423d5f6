"""What is published, and how far it is. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import zip_longest
from typing import Any

from fanin.errors import InvalidRequest
from fanin.grouper.settings.endpoints import ACCOUNT, matched
from fanin.publishing.message_groups import message_group
from fanin.tracker.reads.window import WINDOW_MAX

SOURCE = r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[\x20-\x7e]{0,1024}"
QUEUE_ARN = rf"arn:aws[a-z-]*:sqs:{ACCOUNT}:[A-Za-z0-9_-]{{1,80}}"
CSV = ".csv"
SUFFIXES = (".jsonl", ".ndjson", CSV)
ROWS_A_PART = 10_000
MESSAGES_A_PART = 2_000
SECONDS_A_PART = 20
MESSAGES_A_REQUEST = 10
"""Messages that SQS takes in one request."""
PAUSE_SECONDS = 5
"""A wait as long as this, or longer, is that of a delayed message, during which no function runs."""
RATE_MIN, RATE_MAX = 1.0, 10_000.0
LABEL_LENGTH = 256
FACTS = ("source", "queue", "chunk", "rate", "messageGroup")
"""What an order names, as the body of a request does."""
DIGEST_LENGTH = 12


@dataclass(frozen=True, slots=True)
class Order:
    """What to publish: the object *source*, to *queue*, an ARN, for *tenant*.

    *chunk* rows in a message (None: one), about *rate* messages a second. *batch_id* is known once its
    batch is open.
    """

    tenant: str
    source: str
    queue: str
    chunk: int | None = None
    rate: float | None = None
    group: str | None = None
    batch_id: str = ""

    def __post_init__(self) -> None:
        matched("source", self.source, SOURCE, "s3://BUCKET/KEY, in printable ASCII")
        matched("queue", self.queue, QUEUE_ARN, "the ARN of a standard queue of SQS")
        if not self.source.lower().endswith(SUFFIXES):
            names = " or ".join(SUFFIXES)
            text = f"the key of source has to end with {names}; fanin publish reads other formats"
            raise InvalidRequest(text, field="source")
        if {".", ".."} & set(self.source.split("/")):
            raise InvalidRequest("the key of source has a part . or ..", field="source")
        check_pace(self.chunk, self.rate)
        if self.group is not None:
            message_group(self.group)

    @property
    def object(self) -> tuple[str, str]:
        """Return the bucket and the key."""
        bucket, _, key = self.source.removeprefix("s3://").partition("/")
        return bucket, key

    @property
    def part_rows(self) -> int:
        """Return the most rows of a part, which a function sends within its time."""
        return min(ROWS_A_PART, self._part_messages * (self.chunk or 1))

    @property
    def _part_messages(self) -> int:
        if self.rate is None:
            return MESSAGES_A_PART
        if MESSAGES_A_REQUEST / self.rate >= PAUSE_SECONDS:
            return MESSAGES_A_REQUEST  # the function sends them at once, and ends
        return min(int(self.rate * SECONDS_A_PART), MESSAGES_A_PART)

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels of its batch, by which a key that names another order is refused.

        The digest is a part for each of ``FACTS``.
        """
        facts = (self.source, self.queue, self.chunk, self.rate, self.group)
        digests = (hashlib.sha256(str(fact).encode()).hexdigest()[:DIGEST_LENGTH] for fact in facts)
        return {"source": self.source[-LABEL_LENGTH:], "digest": "-".join(digests)}

    def differences(self, labels: Mapping[str, str]) -> list[str]:
        """Return which of ``FACTS`` are others than those of the batch with *labels*."""
        parts = [each.get("digest", "").split("-") for each in (self.labels, labels)]
        return [name for name, *both in zip_longest(FACTS, *parts) if name and both[0] != both[1]]

    def message(self) -> str:
        """Return the body of the message that continues it."""
        return json.dumps({"publication": asdict(self)}, sort_keys=True)

    @classmethod
    def parse(cls, given: Any) -> Order:
        """Return the order in a message of its own. Raises InvalidRequest."""
        names = {each.name for each in fields(cls)}
        if not isinstance(given, dict) or given.keys() != names:
            raise InvalidRequest(f"a publication has the names {', '.join(sorted(names))}")
        for name in ("tenant", "source", "queue", "batch_id"):
            if not isinstance(given[name], str) or not given[name]:
                raise InvalidRequest(f"{name} is a text that is not empty", field=name)
        if not isinstance(given["group"], str | None):
            raise InvalidRequest("group is a text", field="group")
        return cls(**given)


@dataclass(frozen=True, slots=True)
class Position:
    """How far a publication is: *read* of *size* bytes, with *rows* in *parts*, up to the line *line*.

    *etag*: of the object. Before the object is found, which is the first part, it is empty and the size
    unknown, unless the publication is of an object that was created.
    """

    size: int = 0
    read: int = 0
    rows: int = 0
    parts: int = 0
    line: int = 0
    etag: str = ""

    @property
    def is_end(self) -> bool:
        """Whether all of the object is published."""
        return bool(self.parts) and self.read >= self.size


def check_pace(chunk: Any, rate: Any) -> None:
    """Raise InvalidRequest unless *chunk* is a number of rows, and *rate* one of messages a second."""
    if chunk is not None and (type(chunk) is not int or not 1 <= chunk <= WINDOW_MAX):
        raise InvalidRequest(f"chunk goes from 1 to {WINDOW_MAX:,}", field="chunk")
    if rate is not None and (type(rate) not in (int, float) or not RATE_MIN <= rate <= RATE_MAX):
        raise InvalidRequest(f"rate goes from {RATE_MIN:g} to {RATE_MAX:,.0f}", field="rate")
