"""Sends the requests of calls on an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TypeVar

from h11 import RemoteProtocolError
from urllib3.util import Url, parse_url

from fanin.client.aio.beside import awaited_here, beside, is_beside
from fanin.client.aio.connections import NoTurn, Pool, Target
from fanin.client.http_bodies.exchange import Limits, Received, Request, Sign, unanswered

T = TypeVar("T")


class LoopExchange:
    """Sends requests and sleeps on the event loop of the coroutine that makes the call.

    *connections*: of each event loop at most; more requests wait for one in turn.
    """

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._pools: dict[asyncio.AbstractEventLoop, _OfLoop] = {}

    @property
    def is_here(self) -> bool:
        return is_beside()

    async def run(self, call: Callable[[], T]) -> T:
        """Return the result of *call*, whose requests go this way."""
        return await beside(call, self)

    def once(self, request: Request, sign: Sign | None, limits: Limits) -> Received:
        return awaited_here(self._once(request, sign, limits))

    def sleep(self, seconds: float) -> None:
        awaited_here(asyncio.sleep(seconds))

    def close(self) -> None:
        """Close the connections of the running event loop."""
        found = self._pools.pop(asyncio.get_running_loop(), None)
        if found is not None:
            found.pool.close()

    async def _once(self, request: Request, sign: Sign | None, limits: Limits) -> Received:
        url = parse_url(request.url)
        headers = request.headers if sign is None else await _signed(request, sign)
        pool = await self._pool()
        try:
            connection = await pool.taken(_target(url), limits.connect, limits.seconds_left(time.monotonic()))
        except OSError as error:
            return unanswered(str(url.netloc), error, is_connected=isinstance(error, NoTurn))
        read = min(limits.read, limits.seconds_left(time.monotonic()))
        try:
            status, answered, body = await connection.exchanged(
                request.method, url.request_uri, headers, request.body, read
            )
        except (OSError, RemoteProtocolError) as error:
            return unanswered(str(url.netloc), error, is_connected=True)
        finally:
            pool.give_back(connection)
        return Received(status, body, answered.get("retry-after", ""))

    async def _pool(self) -> Pool:
        """Return the pool of this event loop, which closes it at its end."""
        loop = asyncio.get_running_loop()
        found = self._pools.get(loop)
        if found is None:
            self._pools = {each: pool for each, pool in self._pools.items() if not each.is_closed()}
            found = self._pools[loop] = _OfLoop(Pool(self._connections))
            await anext(found.until_end)
        return found.pool


class _OfLoop:
    """The pool of an event loop; asyncio.run ends the generators of its loop, and so closes the pool."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.until_end = self._until_end(pool)

    @staticmethod
    async def _until_end(pool: Pool) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            pool.close()


async def _signed(request: Request, sign: Sign) -> Mapping[str, str]:
    """Return the headers of *request* with its signature; credentials are read in a thread."""
    parts = request.method, request.url, request.body, request.headers
    may_block = getattr(sign, "may_block", None)
    if may_block is None or not may_block():
        return sign(*parts)
    return await asyncio.to_thread(sign, *parts)


def _target(url: Url) -> Target:
    is_tls = url.scheme == "https"
    port = url.port if url.port is not None else 443 if is_tls else 80
    return Target((url.host or "").strip("[]"), port, is_tls)
