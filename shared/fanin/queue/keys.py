"""Names: of a queue, of its parts, of a job in a part. The tenant comes first in each of them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from fanin.errors import InvalidRequest

NAME_BYTES_MAX = 2048
"""Bytes of UTF-8 that a job's distinct key may have."""
PARTS_MAX = 256

QUEUE_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
# A sort key holds 1,024 bytes; a longer name is known by its hash.
_PLAIN_BYTES = 512


@dataclass(frozen=True, slots=True)
class QueueKey:
    """Names a queue of a tenant: 1 to 80 letters, digits, dots, dashes and underscores.

    A tenant may be called anything. A queue has no ``#`` in its name, and a part none in its number, so that
    a key, read from its end, names one of them only.
    """

    tenant: str
    name: str

    def __post_init__(self) -> None:
        checked_queue_name(self.name)

    def __str__(self) -> str:
        return f"{self.tenant}#{self.name}"


@dataclass(frozen=True, slots=True)
class PartKey:
    """Names one part of a queue; the jobs of a part are kept, ordered and read together."""

    queue: QueueKey
    number: int

    def __str__(self) -> str:
        return f"{self.queue}#{self.number:04x}"


@dataclass(frozen=True, slots=True)
class JobKey:
    """Where the one job of a distinct key is kept."""

    part: PartKey
    sort: str


def checked_queue_name(name: str) -> str:
    """*name*, where a queue may be called so; InvalidRequest where it may not."""
    if not QUEUE_FORM.fullmatch(name):
        raise InvalidRequest("a queue's name is 1 to 80 of A-Z a-z 0-9 . _ -", field="queue")
    return name


def job_key(queue: QueueKey, parts: int, name: str) -> JobKey:
    """The place of the job called *name* in a queue of *parts* parts; InvalidRequest for a bad name."""
    try:
        raw = name.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest("a job's key is Unicode text", field="key") from error
    if not 1 <= len(raw) <= NAME_BYTES_MAX:
        raise InvalidRequest(f"a job's key has 1 to {NAME_BYTES_MAX} bytes", field="key")
    sort = f"k#{name}" if len(raw) <= _PLAIN_BYTES else f"h#{hashlib.sha256(raw).hexdigest()}"
    return JobKey(PartKey(queue, part_of(raw, parts)), sort)


def part_of(name: bytes, parts: int) -> int:
    """The part that a name falls into: the same for every producer and consumer."""
    return int.from_bytes(hashlib.sha1(name, usedforsecurity=False).digest(), "big") % parts
