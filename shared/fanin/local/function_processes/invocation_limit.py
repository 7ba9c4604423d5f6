"""Limits the concurrent invocations of each function to what the cores of this machine bear.

The emulator starts a process for each concurrent invocation, as Lambda does, which has the cores for them.
Here 40 callers would wait for 40 processes to start. Further invocations wait in their order; where none ends
in ``PATIENCE_SECONDS``, one more is let in, so that a function that waits for itself goes on.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ministack.services import lambda_svc

LIMIT = max(4, 2 * (os.cpu_count() or 1))
PATIENCE_SECONDS = 2.0
Execute = Callable[[Mapping[str, Any], Any, str], dict[str, Any]]


@dataclass(slots=True)
class InvocationLimit:
    """Lets *limit* threads in, in their order; one more after *patience* seconds in which none moved."""

    limit: int = LIMIT
    patience: float = PATIENCE_SECONDS
    now: Callable[[], float] = time.monotonic
    _inside: int = 0
    _moved_at: float = float("-inf")
    _waiting: deque[threading.Event] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def place(self) -> Iterator[None]:
        """Wait for a place, and hold it."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> None:
        with self._lock:
            if self._inside < self.limit:
                self._inside += 1
                return
            turn = threading.Event()
            self._waiting.append(turn)
        while not turn.wait(self.patience):
            self._grow()

    def _grow(self) -> None:
        """Let the first waiter in beyond the limit, unless one left or was let in within the patience."""
        with self._lock:
            if self._waiting and self.now() - self._moved_at >= self.patience:
                self._moved_at = self.now()
                self._inside += 1
                self._waiting.popleft().set()

    def _leave(self) -> None:
        with self._lock:
            self._moved_at = self.now()
            # Beyond the limit a place is not passed on, so that the number of processes falls again.
            if self._waiting and self._inside <= self.limit:
                self._waiting.popleft().set()
            else:
                self._inside -= 1


def limited(execute: Execute) -> Execute:
    """Return *execute* with a limit for each function; a version has its own."""
    limits: dict[str, InvocationLimit] = {}

    def execute_in_turn(function: Mapping[str, Any], event: Any, request_id: str) -> dict[str, Any]:
        config = function.get("config") or function
        name = f"{config.get('FunctionArn')}:{config.get('Version')}"
        with limits.setdefault(name, InvocationLimit()).place():
            return execute(function, event, request_id)

    return execute_in_turn


def apply() -> None:
    """Patch the emulator of this process."""
    lambda_svc._execute_function_warm = limited(lambda_svc._execute_function_warm)
