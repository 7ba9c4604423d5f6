"""The keys of queues, parts and jobs; each begins with the tenant."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from fanin.arguments import text, utf8
from fanin.errors import InvalidRequest

NAME_BYTES_MAX = 2048
"""The longest key of a job, in bytes of UTF-8."""
PARTS_MAX = 256
DAY_MINUTES = 1440

QUEUE_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
# A sort key holds 1,024 bytes; a longer name is stored by its hash.
_PLAIN_BYTES = 512


@dataclass(frozen=True, slots=True)
class QueueKey:
    """The key of a tenant's queue, whose name is 1 to 80 of A-Z a-z 0-9 . _ - (first: A-Z a-z 0-9).

    A tenant's name may contain ``#``; a queue's name and a part's number do not, so a key is parsed from its
    end without ambiguity.
    """

    tenant: str
    name: str

    def __post_init__(self) -> None:
        text(self.tenant, "tenant", "tenant")
        checked_queue_name(self.name)

    def __str__(self) -> str:
        return f"{self.tenant}#{self.name}"


@dataclass(frozen=True, slots=True)
class PartKey:
    """The key of one part of a queue; the jobs of a part are stored, ordered and read together."""

    queue: QueueKey
    number: int

    def __str__(self) -> str:
        return f"{self.queue}#{self.number:04x}"


@dataclass(frozen=True, slots=True)
class JobKey:
    """The row of a key: its part and its sort key."""

    part: PartKey
    sort: str


def checked_queue_name(name: str) -> str:
    """Return *name* if it is a valid name of a queue, or raise InvalidRequest."""
    if not QUEUE_FORM.fullmatch(text(name, "a queue's name", "queue")):
        form = "1 to 80 of A-Z a-z 0-9 . _ -, the first of A-Z a-z 0-9"
        raise InvalidRequest(f"a queue's name is {form}: not {name[:80]!r}", field="queue")
    return name


def job_key(queue: QueueKey, parts: int, name: str) -> JobKey:
    """Return the row of the job *name* in a queue of *parts* parts, or raise InvalidRequest."""
    raw = utf8(name, "key", 1, NAME_BYTES_MAX).encode()
    sort = f"k#{name}" if len(raw) <= _PLAIN_BYTES else f"h#{hashlib.sha256(raw).hexdigest()}"
    return JobKey(PartKey(queue, part_of(raw, parts)), sort)


def visit_minute(queue: QueueKey) -> int:
    """Return the minute of the day, in UTC, in which the sweep visits *queue* while it sleeps."""
    return part_of(str(queue).encode(), DAY_MINUTES)


def part_of(name: bytes, parts: int) -> int:
    """Return the part of a name: its SHA-1 modulo *parts*."""
    return int.from_bytes(hashlib.sha1(name, usedforsecurity=False).digest(), "big") % parts
