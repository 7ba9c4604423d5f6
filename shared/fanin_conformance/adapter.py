"""What the suite asks of a tracker: five verbs, and optional ones, as a class to derive from."""

# ruff: noqa: ARG002  # the optional methods have the arguments of those that replace them
from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self
from uuid import uuid4

ITEMS_A_REQUEST = 1000
PAUSE_MAX_SECONDS = 5.0


class NotSupported(Exception):
    """The tracker, or its adapter, cannot do what a case needs; the case is not judged."""


class Unreachable(Exception):
    """Nothing answers at the tracker's URL; no case is judged."""


class Refused(Exception):
    """The tracker answered a request with an error of the caller.

    *why*: the batch is not there, its state forbids the request, the values are invalid, or the caller may
    not send it.
    """

    def __init__(self, why: Literal["not_found", "conflict", "invalid", "denied"], text: str = "") -> None:
        super().__init__(f"{why}: {text}" if text else why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Group:
    """What one add returns: an id, and the number of items."""

    id: str
    size: int


@dataclass(frozen=True, slots=True)
class Added:
    """The answer to an add."""

    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """The report of a completion in the answer to a close or an ack.

    *id*: names the completion, if the tracker gives it a name that a repeated report has too. *succeeded*:
    False if items have failed.
    """

    batch: str
    id: str | None = None
    succeeded: bool = True
    user_key: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a close or an ack. *verdicts*: one for each item, in order; None if there are none.

    The verdicts are ``accepted``, ``duplicate``, ``not_found``, ``out_of_range``, ``invalid``, ``cancelled``,
    ``late`` and ``expired``.
    """

    completions: tuple[Completion, ...] = ()
    verdicts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """What the tracker shows of a batch. *is_over*: it has ended in any way, not only as complete."""

    is_closed: bool
    is_complete: bool
    is_over: bool
    user_key: str | None = None
    total: int | None = None
    acked: int | None = None
    failed: int | None = None


class Span(NamedTuple):
    """Consecutive items of a group, both ends inclusive."""

    group: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """A durable event of the end of a batch, as it was delivered. *missing*: the outstanding items."""

    kind: Literal["completed", "timed_out", "cancelled", "expired", "failed"]
    id: str
    missing: tuple[Span, ...] | None = None


class Adapter(ABC):
    """A tracker as the cases see it. Derive from it; the constructor is called with the URL.

    The methods are called by several threads. Each raises Refused if the tracker refuses the request, any
    other exception if it fails, and bounds the time of its requests. Those that raise NotSupported here are
    optional.
    """

    add_max: int = 2**31 - 1
    """The largest number of items that one add may have."""
    sweep_seconds: float = 1.0
    """How long the tracker may take to notice a deadline, or to repair what a crash left."""
    user_key_max: int = 255
    """Characters of a user key."""

    def __init__(self, url: str | None = None) -> None:
        self.url = url

    def reach(self) -> None:  # noqa: B027  # optional
        """Raise Unreachable if nothing answers at the URL; called once, before the cases. Optional."""

    @abstractmethod
    def open(
        self,
        *,
        user_key: str | None = None,
        token: str | None = None,
        expected_items: int | None = None,
        deadline_seconds: int | None = None,
        kept_open_seconds: int | None = None,
    ) -> str:
        """Open a batch and return its id. Raise NotSupported for an option that the tracker lacks.

        *token*: the idempotency key, here and below. *kept_open_seconds*: how long an open batch is kept
        without activity.
        """

    @abstractmethod
    def add(self, batch: str, count: int, token: str | None = None) -> Added:
        """Add *count* items."""

    @abstractmethod
    def close(self, batch: str, token: str | None = None) -> Answer:
        """Close the batch: no items are added any more."""

    @abstractmethod
    def ack(self, items: Sequence[str], token: str | None = None) -> Answer:
        """Ack up to 1,000 items by their ids."""

    @abstractmethod
    def status(self, batch: str) -> Status:
        """Return what the tracker shows of the batch."""

    def item_id(self, batch: str, group: str, index: int | str) -> str:
        """Return the id of an item, of one that does not exist too."""
        return f"{batch}:{group}:{index}"

    def unknown_batch(self) -> str:
        """Return the well-formed id of a batch that does not exist."""
        return str(uuid4())

    def ack_span(self, batch: str, span: Span) -> None:
        """Ack the items of a span, in as few requests as the tracker allows."""
        for first in range(span.first, span.last + 1, ITEMS_A_REQUEST):
            last = min(span.last, first + ITEMS_A_REQUEST - 1)
            self.ack([self.item_id(batch, span.group, at) for at in range(first, last + 1)])

    def fail(self, items: Sequence[str], reason: str) -> Answer:
        """Ack up to 1,000 items as failed for good."""
        raise NotSupported("failed items")

    def cancel(self, batch: str) -> None:
        """Cancel the batch."""
        raise NotSupported("cancel")

    def remove(self, batch: str) -> None:
        """Delete an ended batch, as an administrator."""
        raise NotSupported("a delete of batches")

    def outstanding(self, batch: str) -> Sequence[Span]:
        """Return the first page of the items that are not acked."""
        raise NotSupported("a list of outstanding items")

    def failures(self, batch: str) -> Sequence[Span]:
        """Return the items that have failed, all pages."""
        raise NotSupported("a list of failed items")

    def deliveries(self, batch: str, count: int, seconds: float) -> Sequence[Delivery]:
        """Return all events of the batch's end; wait up to *seconds* for *count* of them."""
        raise NotSupported("durable events")

    def ack_unanswered(self, items: Sequence[str], token: str) -> None:
        """Send an ack that is stored, and lose its answer."""
        raise NotSupported("a lost answer")

    def ack_and_crash(self, items: Sequence[str]) -> None:
        """Ack the last items; crash once the last of them is stored, before its report; restart."""
        raise NotSupported("a crash of the server")

    def pass_time(self, seconds: float) -> None:
        """Let the tracker's clock advance, by a pause of up to 5 s unless overridden."""
        if seconds > PAUSE_MAX_SECONDS:
            raise NotSupported(f"a clock that advances by {seconds:g} s")
        time.sleep(seconds)

    def seconds(self) -> float:
        """Return the time by which requests are measured."""
        return time.perf_counter()

    def anonymous(self) -> Self:
        """Return an adapter to the same tracker without credentials."""
        raise NotSupported("callers without credentials")
