"""Requests of a process that is killed at one of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


class Killed(BaseException):
    """The process ends here."""


class Network:
    """Counts requests; the one of the number *fatal* fails, before or, if *after*, once it was applied.

    A process that was killed sends nothing more; one in which another *error* is raised goes on.
    """

    def __init__(
        self, fatal: int | None = None, after: bool = False, error: BaseException | type = Killed
    ) -> None:
        self.fatal, self.after, self.error, self.count = fatal, after, error, 0

    @property
    def is_cut(self) -> bool:
        """Return whether the fatal request was sent."""
        return self.fatal is not None and self.count >= self.fatal

    def call(self, method: Any, *args: Any, **options: Any) -> Any:
        self.count += 1
        is_fatal, is_dead = self.count == self.fatal, self.is_cut and self.error is Killed
        if (is_fatal and not self.after) or (is_dead and not is_fatal):
            raise self.error
        answer = method(*args, **options)
        if is_fatal:
            raise self.error
        return answer


class Watched:
    """Passes those of *requests* to *target*, or all, through a network, and all others directly."""

    def __init__(self, target: Any, network: Network, requests: Collection[str] | None = None) -> None:
        self.target, self.network, self.requests = target, network, requests

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.target, name)
        if not callable(method) or (self.requests is not None and name not in self.requests):
            return method
        return lambda *args, **options: self.network.call(method, *args, **options)
