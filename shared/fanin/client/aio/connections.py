"""Connections of HTTP/1.1 on an event loop, by h11, and a bounded pool of them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import h11
from urllib3.util.wait import wait_for_read

AT_ONCE = 64 * 1024
"""Bytes that are read at a time."""


class Target(NamedTuple):
    """Where a connection goes to."""

    host: str
    port: int
    is_tls: bool

    @property
    def header(self) -> str:
        """Return the value of ``Host``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_tls else 80) else f"{host}:{self.port}"


class Connection:
    """A connection, which carries one exchange at a time."""

    def __init__(self, target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.target = target
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.CLIENT)

    @classmethod
    async def opened(cls, target: Target, seconds: float) -> Connection:
        """Connect to *target* within so many seconds. Raises OSError."""
        tls = _tls() if target.is_tls else None
        async with asyncio.timeout(seconds):
            return cls(target, *await asyncio.open_connection(target.host, target.port, ssl=tls))

    @property
    def is_reusable(self) -> bool:
        """Whether the next exchange can begin: the last one was whole, and nothing came since, nor an end."""
        is_idle = self._http.our_state is h11.IDLE and self._http.their_state is h11.IDLE
        if not is_idle or self._http.trailing_data[0] or self._reader.at_eof() or self._writer.is_closing():
            return False
        return not wait_for_read(self._writer.get_extra_info("socket"), timeout=0)

    def pause(self) -> None:
        """Leave what comes to the socket, where ``is_reusable`` sees it."""
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]  # of a socket, it can read

    def resume(self) -> None:
        """Read again."""
        self._writer.transport.resume_reading()  # type: ignore[attr-defined]

    async def exchanged(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request; return the status, the headers and the body of its answer.

        *seconds*: for each part of the answer. Raises OSError and h11.RemoteProtocolError; the connection is
        not reusable then, nor after a cancellation.
        """
        self._write(method, path, headers, body)
        async with asyncio.timeout(seconds):
            await self._writer.drain()
        response, chunks = None, []
        while True:
            event = await self._event(seconds)
            if isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                chunks.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage) and response is not None:
                break
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        answered = {name.decode(): value.decode("latin-1") for name, value in response.headers}
        return response.status_code, answered, b"".join(chunks)

    def close(self) -> None:
        """Close the connection without waiting for the peer."""
        self._writer.transport.abort()

    def _write(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> None:
        own = {"Host": self.target.header, "User-Agent": "fanin", "Accept-Encoding": "identity"}
        named = {name: value for name, value in headers.items() if name.lower() != "host"}
        length = {} if body is None else {"Content-Length": str(len(body))}
        head = h11.Request(method=method, target=path, headers=[*(own | named | length).items()])
        parts = [head, *([h11.Data(data=body)] if body else ()), h11.EndOfMessage()]
        self._writer.write(b"".join(self._http.send(part) or b"" for part in parts))

    async def _event(self, seconds: float) -> object:
        """Return the next event of the answer."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            async with asyncio.timeout(seconds):
                self._http.receive_data(await self._reader.read(AT_ONCE))
        if isinstance(event, h11.ConnectionClosed):
            raise ConnectionResetError("the connection was closed before an answer")
        return event


class NoTurn(TimeoutError):
    """No connection was free in time."""


class Pool:
    """At most *limit* connections of one event loop, of which idle ones are used again, the latest first."""

    def __init__(self, limit: int) -> None:
        self._turns = asyncio.Semaphore(limit)
        self._idle: dict[Target, list[Connection]] = {}
        self._is_closed = False

    async def taken(self, target: Target, seconds: float, turn_seconds: float) -> Connection:
        """Return a connection to *target*, which has to be given back; connecting takes *seconds* at most.

        Raises NoTurn if all are in use for *turn_seconds*, and OSError.
        """
        try:
            async with asyncio.timeout(turn_seconds):
                await self._turns.acquire()
        except TimeoutError as error:
            raise NoTurn("all connections of the client were in use") from error
        try:
            return self._reused(target) or await Connection.opened(target, seconds)
        except BaseException:
            self._turns.release()
            raise

    def give_back(self, connection: Connection) -> None:
        """Keep *connection* for the next request; one that is not reusable is closed."""
        self._turns.release()
        if connection.is_reusable and not self._is_closed:
            connection.pause()
            self._idle.setdefault(connection.target, []).append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close the idle connections, and those in use when they are given back."""
        self._is_closed = True
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    def _reused(self, target: Target) -> Connection | None:
        """Return an idle connection; those that the peer has ended, or written to, are dropped."""
        idle = self._idle.get(target, [])
        while idle:
            connection = idle.pop()
            if connection.is_reusable:
                connection.resume()
                return connection
            connection.close()
        return None


@cache
def _tls() -> ssl.SSLContext:
    """Return what verifies the certificates of servers; reading those of the system takes some time."""
    return ssl.create_default_context()
