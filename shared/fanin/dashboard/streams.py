"""Streams of server-sent events to the page: an event for each look at a batch, until it has ended.

A look reads at most 32 pages of a level of the batch, after the pause that the answer before asked for. A
stream holds a connection and a thread, so it ends when its reader is gone, and there are few.
"""

from __future__ import annotations

import json
import random
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from fanin.client.waiting import JITTER
from fanin.dashboard.upstream import Answer

STREAMS = 4
"""Streams at one time: a browser opens six connections to a host, of which requests need some."""
MEDIA_TYPE = "text/event-stream"
QUERY = "progress=estimate"


class Streams:
    """The connections of the open streams of a server, at most ``STREAMS``."""

    def __init__(self) -> None:
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    @contextmanager
    def held_by(self, connection: socket.socket) -> Iterator[bool]:
        """Hold a place for *connection* in the block, which gets whether there is one."""
        with self._lock:
            has_place = len(self._open) < STREAMS
            if has_place:
                self._open.add(connection)
        try:
            yield has_place
        finally:
            with self._lock:
                self._open.discard(connection)

    def close(self) -> None:
        """End the open streams."""
        with self._lock:
            for connection in self._open:
                with suppress(OSError):  # its reader is gone
                    connection.shutdown(socket.SHUT_RDWR)


def events_of(
    found: Answer, look: Callable[[], Answer], has_reader: Callable[[float], bool]
) -> Iterator[bytes]:
    """Yield *found* as an event, and what each further *look* finds, up to the end of the batch.

    Ends before, where a look is refused or fails, or where *has_reader*, which waits so many seconds,
    returns false.
    """
    while found.status == 200:
        document: dict[str, Any] = json.loads(found.body)
        yield f"data: {json.dumps(document)}\n\n".encode()
        pause = document.get("retryAfterSeconds")
        if pause is None or not has_reader(pause * (1 + JITTER * random.random())):
            return
        found = look()


def has_reader(connection: socket.socket, seconds: float) -> bool:
    """Wait *seconds*, or until the reader of a stream closes *connection*; return whether it is still there.

    It sends nothing, so its end alone can be read.
    """
    return not select.select([connection], [], [], seconds)[0]
