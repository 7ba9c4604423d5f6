"""Lets the takes of one process through one at a time, in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Turnstile:
    """A lock that is fair: the first in line holds it."""

    line: deque[object] = field(default_factory=deque)
    moved: threading.Condition = field(default_factory=threading.Condition, repr=False)

    @contextmanager
    def turn(self, seconds: float | None) -> Iterator[bool]:
        """Whether it is one's turn within so many seconds (None: it will be)."""
        me = object()
        try:
            with self.moved:
                self.line.append(me)
                mine = self.moved.wait_for(lambda: self.line[0] is me, seconds)
            yield mine
        finally:
            with self.moved:
                if me in self.line:  # an interruption may come before it is
                    self.line.remove(me)
                self.moved.notify_all()
