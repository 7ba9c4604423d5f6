"""How a call of the client without asyncio runs for a coroutine: on the event loop, or in a thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import cache, partial, wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from fanin.client.aio.threads import run_in
from fanin.client.fanin import Fanin
from fanin.client.handing_over.under_work import of_this_thread

if TYPE_CHECKING:
    from fanin.client.aio.exchange import LoopExchange

logger = logging.getLogger("fanin")
P = ParamSpec("P")
S = TypeVar("S")
C_co = TypeVar("C_co", covariant=True)
T = TypeVar("T")


class Caller:
    """Runs calls of *fanin* for coroutines, with at most *connections* to the API from each event loop."""

    def __init__(self, fanin: Fanin, connections: int) -> None:
        self._fanin, self._connections = fanin, connections
        self._found: tuple[LoopExchange | None, ...] = ()

    def __reduce__(self) -> Any:
        """Return how a copy is made, which connects anew."""
        return type(self), (self._fanin, self._connections)

    async def call(self, call: Callable[[], T]) -> T:
        """Return the result of *call*; a cancellation ends it, in a thread after its request."""
        exchange = await self._exchange_of_loop()
        if exchange is None:
            return await run_in(None, of_this_thread(call))
        return await exchange.run(call)

    def close(self) -> None:
        """Close the connections of this event loop."""
        for exchange in self._found:
            if exchange is not None:
                exchange.close()

    async def _exchange_of_loop(self) -> LoopExchange | None:
        """Return what sends requests on the event loop; None if the client's are not of HTTP.

        Its imports, and those of the client's transport, are made in a thread, as they take time.
        """
        slot = self._fanin._slot
        exchange = slot.current() if slot.is_created else await run_in(None, slot.current)
        if not getattr(exchange, "has_api", False):
            return None
        if not self._found:
            found = await run_in(None, partial(exchange_of, self._connections))
            self._found = self._found or (found,)
        return self._found[0]


def exchange_of(connections: int) -> LoopExchange | None:
    """Return what sends requests on an event loop; None without the extra."""
    try:
        from fanin.client.aio.exchange import LoopExchange  # noqa: PLC0415  # the extra, and only for HTTP
    except ImportError:
        _warn()
        return None
    return LoopExchange(connections)


@cache
def _warn() -> None:
    logger.warning("AsyncFanin runs its calls in threads: install fanin[async] for those of the event loop")


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of *work*, which is not cancelled: a cancellation is raised once it has ended."""
    running = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        running.exception()
        raise cancelled
    return running.result()


class Calls(Protocol):
    """Runs calls for coroutines."""

    async def call(self, call: Callable[[], T]) -> T: ...


class Over(Protocol[C_co]):
    """What stands for a value of the client without asyncio, the *sync* one, whose calls *caller* runs."""

    @property
    def sync(self) -> C_co: ...
    @property
    def caller(self) -> Calls: ...


def awaited(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[Over[S], P], Coroutine[Any, Any, T]]:
    """Return *method* as a coroutine function with the same arguments."""

    @wraps(method)
    async def call(self: Over[S], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.caller.call(lambda: method(self.sync, *args, **kwargs))

    return call


def iterated(
    method: Callable[Concatenate[S, P], Iterator[T]], at_once: int = 1
) -> Callable[Concatenate[Over[S], P], AsyncGenerator[T, None]]:
    """Return *method*, which returns an iterator, as one that returns an async iterator.

    *at_once*: how many values are taken in one call.
    """

    @wraps(method)
    async def call(self: Over[S], /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        values = await self.caller.call(lambda: method(self.sync, *args, **kwargs))
        while found := await self.caller.call(lambda: [*islice(values, at_once)]):
            for value in found:
                yield value

    return call
