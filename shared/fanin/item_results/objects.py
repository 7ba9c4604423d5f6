"""The port to the objects of a bucket. Nothing is ever overwritten: a name is new, or its object stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from urllib.parse import quote

from fanin.tracker.rules.model import BatchKey

FOLDER = "results"
"""The folder of all results: a bucket may hold other objects too."""


@dataclass(frozen=True, slots=True)
class Listed:
    """An object, as a list has it: its name and its bytes."""

    name: str
    size: int


class Objects(Protocol):
    """Each call is one request, but for ``names`` and ``remove``. Reads and lists see every earlier write.

    Raises StoreUnavailable if the outcome is unknown; every call may be repeated.
    """

    def put(self, name: str, body: bytes) -> None:
        """Store *body* under a *name* that nothing else has."""

    def put_first(self, name: str, body: bytes) -> bool:
        """Store *body* unless there is an object of this *name*; return whether this call did.

        False also for a call that was applied and repeated: read what is stored.
        """

    def get(self, name: str) -> bytes | None:
        """Return the object, or None."""

    def names(self, folder: str) -> Iterator[Sequence[Listed]]:
        """Yield the objects whose names begin with *folder*, in the order of their names, in parts."""

    def remove(self, folder: str) -> bool:
        """Remove objects whose names begin with *folder*, at most 20,000; return whether none is left."""

    def link(self, name: str, lifetime: timedelta) -> str:
        """Return a URL that reads the object, and expires."""


def folder_of(key: BatchKey) -> str:
    """Return the folder of a batch; its tenant is in the name, so that no batch of another one is in it."""
    return f"{FOLDER}/{quote(key.tenant, safe='')}/{key.batch_id}/"
