"""The child process of a local run: the emulator and the API's port. It never outlives its parent.

``python -m fanin.local.host PARENT HOME API_FD ENDPOINT_FD``. Its standard input is the parent's voice: a
line is the id of the deployed API, the end is the end. The emulator's workers are in this process's group.
"""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TextIO

from hypercorn.asyncio import serve
from hypercorn.config import Config
from ministack.app import app as emulator

from fanin.local import parent_watch, tuning
from fanin.local.gateway import Gateway
from fanin.local.loopback import LoopbackOnly


def main(parent: int, home: Path, api_fd: int, endpoint_fd: int) -> None:
    """Serve until told to stop or left alone."""
    # The workers must find the packages of the zip and the layer, not this tree.
    os.environ.pop("PYTHONPATH", None)
    signal.signal(signal.SIGTERM, functools.partial(_end, home))
    signal.signal(signal.SIGINT, functools.partial(_end, home))
    tuning.apply()
    gateway = Gateway(emulator, _port(api_fd))
    threading.Thread(target=_listen, args=(gateway, sys.stdin), daemon=True).start()
    # A fork of the parent may keep our standard input open; that the parent is gone shows all the same.
    parent_watch.follow(parent, _ask_to_end)
    asyncio.run(_serve(gateway, api_fd, endpoint_fd))


async def _serve(gateway: Gateway, *fds: int) -> None:
    config = Config()
    config.bind = [f"fd://{fd}" for fd in fds]
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    # A shutdown that never comes: the signal handler ends the process, so none of hypercorn's is wanted.
    await serve(LoopbackOnly(gateway), config, shutdown_trigger=asyncio.Event().wait)  # type: ignore[arg-type]


def _port(fd: int) -> int:
    sock = socket.socket(fileno=os.dup(fd))
    port: int = sock.getsockname()[1]
    sock.close()
    return port


def _listen(gateway: Gateway, voice: TextIO) -> None:
    for line in voice:
        gateway.api_id = line.strip()
    _ask_to_end()


def _ask_to_end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _end(home: Path, *_: int | FrameType | None) -> None:
    """Take the workers and the files along; nothing of a local run is worth a farewell."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # Under another name, where the threads that still invoke find no folder to unpack a worker into.
    gone = home.with_name(f"{home.name}-gone-{os.getpid()}")
    with suppress(FileNotFoundError):
        home.rename(gone)
    os.killpg(0, signal.SIGTERM)
    for _attempt in range(20):
        shutil.rmtree(gone, ignore_errors=True)
        if not gone.exists():
            break
        time.sleep(0.05)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
