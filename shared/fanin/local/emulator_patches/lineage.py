"""How Lambda detects recursive loops: it counts the invocations of each function in a chain of requests.

AWS Lambda Developer Guide, "Use Lambda recursive loop detection to prevent infinite loops": a function whose
``RecursiveLoop`` is not ``Allow`` is invoked about 16 times in one chain; the next invocation is dropped. The
counts travel in the field ``Lineage`` of the X-Ray trace header. The SDK of the function sends it with each
request, and SQS keeps it with each message.

AWS documents neither the content of the field nor the chain of a delivery with several messages. Here the
field has the count of each function, and a delivery the highest counts of its messages.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

TRACE_HEADER = "AWSTraceHeader"
"""The system attribute of a message that keeps the trace header of the request that sent it."""
FIELD = "Lineage"
INVOCATIONS_MAX = 16
STOPPED = "RecursiveInvocationException"


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain of requests: how often it invoked each function so far."""

    invocations: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, header: str) -> Chain:
        """Return the counts in a trace header; skip entries of another form."""
        fields = dict(part.strip().partition("=")[::2] for part in header.split(";"))
        entries = [entry.rpartition(":")[::2] for entry in fields.get(FIELD, "").split("|")]
        return cls({name: int(count) for name, count in entries if count.isdecimal()})

    @classmethod
    def of_messages(cls, chains: Iterable[Chain]) -> Chain:
        """Return the chain of a delivery: of each function the highest count of its messages."""
        highest: dict[str, int] = {}
        for name, count in (entry for chain in chains for entry in chain.invocations.items()):
            highest[name] = max(count, highest.get(name, 0))
        return cls(highest)

    @classmethod
    def of_event(cls, event: Any) -> Chain | None:
        """Return the chain of an *event* of SQS, or None for any other one."""
        records = event.get("Records") if isinstance(event, dict) else None
        if not records or records[0].get("eventSource") != "aws:sqs":
            return None
        return cls.of_messages(cls.parse(each["attributes"].get(TRACE_HEADER, "")) for each in records)

    def is_loop(self, function: str) -> bool:
        """Return whether one more invocation of *function* is dropped, unless it allows loops."""
        return self.invocations.get(_name(function), 0) >= INVOCATIONS_MAX

    def with_invocation(self, function: str) -> Chain:
        """Return the chain of the requests that the next invocation of *function* sends."""
        name = _name(function)
        return Chain({**self.invocations, name: self.invocations.get(name, 0) + 1})

    def header(self) -> str:
        """Return a trace header with the counts."""
        counts = "|".join(f"{name}:{count}" for name, count in sorted(self.invocations.items()))
        root = f"1-{int(time.time()):08x}-{secrets.token_hex(12)}"
        return f"Root={root};Parent={secrets.token_hex(8)};Sampled=0;{FIELD}={counts}"


def _name(function: str) -> str:
    return hashlib.sha256(function.encode()).hexdigest()[:8]
