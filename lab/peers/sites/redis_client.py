"""The few commands of Redis that a benchmark sends, over its protocol (RESP2)."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from typing import Any

HOST = "127.0.0.1"
PORTION = 5_000


class RedisError(Exception):
    """Redis answered with an error."""


class Redis:
    """A connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")

    def call(self, *parts: object) -> Any:
        """Return the answer of a command: bytes, int, list or None. Raises RedisError."""
        return self.call_all([parts])[0]

    def call_all(self, commands: Sequence[Iterable[object]]) -> list[Any]:
        """Send *commands* at once, and return their answers."""
        self._socket.sendall(b"".join(map(_encoded, commands)))
        return [self._answer() for _ in commands]

    def push(self, key: str, values: Sequence[bytes]) -> None:
        """Append *values* to a list, from the left to its right end."""
        for first in range(0, len(values), PORTION):
            self.call("RPUSH", key, *values[first : first + PORTION])

    def info(self, section: str) -> dict[str, str]:
        """Return the fields of a section of INFO."""
        lines = self.call("INFO", section).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def close(self) -> None:
        """Close the connection."""
        self._answers.close()
        self._socket.close()

    def _answer(self) -> Any:
        line = self._answers.readline()
        if not line:
            raise RedisError("the connection was closed")
        kind, argument = line[:1], line[1:-2]
        if kind == b"-":
            raise RedisError(argument.decode())
        if kind == b":":
            return int(argument)
        if kind == b"*":
            return None if argument == b"-1" else [self._answer() for _ in range(int(argument))]
        if kind == b"$":
            return None if argument == b"-1" else self._answers.read(int(argument) + 2)[:-2]
        return argument


def _encoded(parts: Iterable[object]) -> bytes:
    encoded = [each if isinstance(each, bytes) else str(each).encode() for each in parts]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in encoded)
