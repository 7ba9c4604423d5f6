"""One exchange of HTTP as plain data, and who carries it out here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

Sign = Callable[[str, str, bytes | None, Mapping[str, str]], Mapping[str, str]]
"""(method, url, body, headers) -> headers with the caller's credentials."""
UNANSWERED = 0
"""The status of a request without an answer; it may have been applied."""


@dataclass(frozen=True, slots=True)
class Request:
    """One logical call; each attempt sends the same headers, so the same idempotency key."""

    method: str
    url: str
    body: bytes | None
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Received:
    """What came back for a request: an answer, or why there is none (*failure*)."""

    status: int
    body: bytes = b""
    retry_after: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many seconds an attempt may take to *connect*, and to *read* a part of its answer.

    *until*: the end of its call, by the monotonic clock.
    """

    connect: float
    read: float
    until: float

    def seconds_left(self, now: float) -> float:
        """Return the seconds of the call that are left, though at least those to connect."""
        return max(self.connect, self.until - now)


class Exchange(Protocol):
    """Sends requests and sleeps, in place of the thread that makes the call."""

    @property
    def is_here(self) -> bool:
        """Whether this code is of the call, and not of a thread or a task that the call started."""

    def once(self, request: Request, sign: Sign | None, limits: Limits) -> Received:
        """Send *request*, signed, and return what came back; errors of the network are a failure."""

    def sleep(self, seconds: float) -> None: ...


EXCHANGE: ContextVar[Exchange | None] = ContextVar("fanin_exchange", default=None)
"""That of the coroutine that makes a call, and of what copies its context."""


def exchange_here() -> Exchange | None:
    """Return the exchange of the coroutine that makes this call; None in a thread of its own."""
    exchange = EXCHANGE.get()
    return exchange if exchange is not None and exchange.is_here else None


def unanswered(host: str, error: Exception, is_connected: bool) -> Received:
    """Return that *host* gave no answer because of *error*."""
    hint = "" if is_connected else "; check the URL and that the API is running"
    why = f"{type(error).__name__}: {error}".removesuffix(": ")
    return Received(UNANSWERED, failure=f"{host} gave no answer{hint} ({why})")
