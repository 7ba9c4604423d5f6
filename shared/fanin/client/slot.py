"""The slot of a client's transport: its own one, made at the first call, or one that is lent for a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, cast

from fanin.aws.forking import PerProcess
from fanin.client.transport import Transport

if TYPE_CHECKING:
    from fanin.client.waiting import Timer
    from fanin.queue import Options, Queue


class Lent(Transport, Protocol):
    """A transport that stands in for a client's own one, with the time and the queues that belong to it."""

    @property
    def timer(self) -> Timer:
        """The effects of a wait."""

    def queue(self, name: str, options: Options | None) -> Queue:
        """Return the work queue *name*."""


class TransportSlot:
    """Passes each call to the transport that is in the slot at that time.

    So a Lambda handler or a batch that the client made before uses a lent transport, too.
    """

    def __init__(self, make: Callable[[], Transport]) -> None:
        self.lent: Lent | None = None
        self._own = PerProcess(make)

    def as_transport(self) -> Transport:
        """Return the slot, which has the methods of its transport."""
        return cast("Transport", self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # a copy or a pickle asks for names that no transport has
            raise AttributeError(name)
        return getattr(self._own() if self.lent is None else self.lent, name)
