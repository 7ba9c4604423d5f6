"""Objects in memory, for tests and the fake client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock

from fanin.errors import InvalidRequest
from fanin.item_results.objects import Listed


@dataclass(slots=True)
class MemoryObjects:
    """Keeps objects in a dict; a list has at most *page* of them in a part."""

    page: int = 1000
    stored: dict[str, bytes] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def put(self, name: str, body: bytes) -> None:
        with self._lock:
            self.stored[name] = body

    def put_first(self, name: str, body: bytes) -> bool:
        with self._lock:
            return self.stored.setdefault(name, body) is body

    def get(self, name: str) -> bytes | None:
        return self.stored.get(name)

    def names(self, folder: str) -> Iterator[Sequence[Listed]]:
        with self._lock:
            found = sorted(name for name in self.stored if name.startswith(folder))
            listed = [Listed(name, len(self.stored[name])) for name in found]
        for first in range(0, len(listed), self.page):
            yield listed[first : first + self.page]

    def remove(self, folder: str) -> bool:
        with self._lock:
            for name in [name for name in self.stored if name.startswith(folder)]:
                del self.stored[name]
        return True

    def link(self, name: str, lifetime: timedelta) -> str:  # noqa: ARG002  # of no bucket
        raise InvalidRequest("results in memory have no links; read them with results()")
