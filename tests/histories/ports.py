"""Records the requests of a simulator's network, each as one operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from greenlet import GreenletExit

from tests.histories.history import UNKNOWN, Recorder, Span
from tests.simulating.faults import Fault
from tests.simulating.loop import Loop
from tests.simulating.network import Network, Request

Note = Callable[[Request, Span, Any], None]
"""What is done with a request, its moments and its answer."""


def record_port(network: Network, recorder: Recorder, note: Note) -> None:
    """Call *note* with each request that *network* carries from now on.

    One that the network carried out twice is two: the first has no answer.
    """
    carry, fail = network.carry, network.fail
    repeated: set[int] = set()

    def carrying(request: Request) -> Any:
        span = Span(recorder.tick())
        try:
            answer = carry(request)
        except BaseException:
            note(request, span, UNKNOWN)
            raise
        note(request, Span(span.began, recorder.tick()), answer)
        if id(request) in repeated:
            repeated.remove(id(request))
            note(request, span, UNKNOWN)
        return answer

    def failing(request: Request, fault: Fault) -> Any:
        if fault.again:
            repeated.add(id(request))
        return fail(request, fault)

    network.carry = carrying  # type: ignore[method-assign]
    network.fail = failing  # type: ignore[method-assign]


def unwind(loop: Loop) -> None:
    """End the actors that a broken promise left under way: their requests are noted without answers."""
    for actor in list(loop.running):
        if actor.thread and not actor.thread.dead:
            loop.actor = actor
            actor.thread.throw(GreenletExit)
    loop.actor = None
