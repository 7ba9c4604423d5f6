"""Requests of a process that is killed at one of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


class Killed(BaseException):
    """The process ends here."""


class Network:
    """Counts requests; ends the process before (or, if *after*, behind) the one of the number *fatal*."""

    def __init__(
        self, fatal: int | None = None, after: bool = False, error: BaseException | type = Killed
    ) -> None:
        self.fatal, self.after, self.error, self.count = fatal, after, error, 0

    @property
    def is_cut(self) -> bool:
        """Return whether the fatal request was sent."""
        return self.count == self.fatal

    def call(self, method: Any, *args: Any, **options: Any) -> Any:
        self.count += 1
        if self.is_cut and not self.after:
            raise self.error
        answer = method(*args, **options)
        if self.is_cut:
            raise self.error
        return answer


class Watched:
    """Passes those of *requests* to *target* through a network, and all others directly."""

    def __init__(self, target: Any, network: Network, requests: Collection[str]) -> None:
        self.target, self.network, self.requests = target, network, requests

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.target, name)
        if name not in self.requests:
            return method
        return lambda *args, **options: self.network.call(method, *args, **options)
