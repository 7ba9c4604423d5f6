"""Lets the takes of one process through one at a time, in the order in which they started."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class FairLock:
    """A lock that callers acquire in the order in which they asked for it."""

    line: deque[object] = field(default_factory=deque)
    moved: threading.Condition = field(default_factory=threading.Condition, repr=False)

    @contextmanager
    def acquired(self, seconds: float | None) -> Iterator[bool]:
        """Yield whether the lock was acquired within *seconds* (None: no limit); release it afterwards."""
        ticket = object()
        try:
            with self.moved:
                self.line.append(ticket)
                is_first = self.moved.wait_for(lambda: self.line[0] is ticket, seconds)
            yield is_first
        finally:
            with self.moved:
                if ticket in self.line:  # an interruption may come before it is
                    self.line.remove(ticket)
                self.moved.notify_all()
