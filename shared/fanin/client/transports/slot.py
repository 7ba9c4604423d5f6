"""The slot of a client's transport: its own one, made at the first call, or one that is lent for a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, cast

from fanin.aws.forking import PerProcess
from fanin.client.argument_checks.naming import named_as_arguments
from fanin.client.timer import Timer
from fanin.client.transports.transport import Transport
from fanin.errors import InvalidRequest

if TYPE_CHECKING:
    from fanin.client.queues.queue import Queue
    from fanin.queue import Options


HAS_ENDED = "the block of in_place_of has ended: use what its client opened, as batch.status(), within it"


class Lent(Transport, Protocol):
    """A transport that stands in for a client's own one, with the time and the queues that belong to it."""

    @property
    def timer(self) -> Timer:
        """The effects of a wait."""

    def queue(self, name: str, options: Options | None) -> Queue:
        """Return the work queue *name*."""


class TransportSlot:
    """Passes each call to the transport that is in the slot at that time; its errors name arguments.

    So a Lambda handler or a batch that the client made before uses a lent transport, too.
    """

    def __init__(self, make: Callable[[], Transport]) -> None:
        self._lent: tuple[Lent, int] | None = None
        self._was_lent = False
        self._own = PerProcess(make)

    @property
    def lent(self) -> Lent | None:
        """The transport that is lent, in this process. Raises InvalidRequest in a forked child."""
        lent, process = self._lent or (None, None)
        if lent is not None and process != os.getpid():
            raise InvalidRequest(
                "a fake client is in the memory of one process, and a call of a child process would be lost:"
                " return the outcome of the work to the function, which reports it"
            )
        return lent

    @lent.setter
    def lent(self, lent: Lent | None) -> None:
        self._lent = None if lent is None else (lent, os.getpid())
        self._was_lent |= lent is not None

    def as_transport(self) -> Transport:
        """Return the slot, which has the methods of its transport."""
        return cast("Transport", self)

    @property
    def is_created(self) -> bool:
        """Whether there is a transport, so that none is made at the next call."""
        return self.lent is not None or self._own.is_created

    def current(self) -> Transport:
        """Return the transport that calls go to now; it is made at the first one."""
        if (lent := self.lent) is not None:
            return lent
        try:
            return self._own()
        except InvalidRequest as error:
            if self._was_lent:
                error.add_note(HAS_ENDED)
            raise

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # a copy or a pickle asks for names that no transport has
            raise AttributeError(name)
        member = getattr(self.current(), name)
        return named_as_arguments()(member) if callable(member) else member
