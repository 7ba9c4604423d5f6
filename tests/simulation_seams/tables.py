"""The tables as the processes see them: some calls are two requests, and reads of indexes may be old."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.simulating.network import Remote
from tests.simulation.replica import Replica
from tests.simulation.two_requests import TwoRequests


class Store(TwoRequests, Remote):
    """The tracker's store at the other end of the network."""


class Tables:
    """Carries out the requests of processes: *judged* those that must not be old, a replica the others."""

    def __init__(self, judged: Callable[[str, tuple[Any, ...]], Any], replica: Replica) -> None:
        self._judged, self._replica = judged, replica

    def apply(self, name: str, args: tuple[Any, ...]) -> Any:
        """Carry out a request."""
        self._replica.pass_time()
        if self._replica.serves(name):
            return self._replica.read(name, args)
        return self._judged(name, args)
