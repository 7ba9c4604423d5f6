"""The child process of a local run: serves the emulator and the API's port, and exits with its parent.

``python -m fanin.local.emulator_process.host PARENT DIRECTORY API_FD ENDPOINT_FD [DYNAMODB]``. DYNAMODB is
what the option ``--dynamodb`` of the run names. The parent writes the id of the deployed API to its standard
input, as a line; at the end of input the process exits. The emulator's workers belong to its process group.
"""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TextIO

from ministack.app import app as emulator
from uvicorn import Config, Server

from fanin.local.dynamodb_engine import leftovers
from fanin.local.emulator_patches import read_units, recursive_loops, request_checks, speedups
from fanin.local.emulator_process import parent_watch
from fanin.local.emulator_process.gateway import Gateway, LoopbackOnly
from fanin.local.errors import LocalRunError
from fanin.local.function_processes import durable, failed_invocations
from fanin.local.run_directories import remove_folder


def main(parent: int, directory: Path, api_fd: int, endpoint_fd: int, dynamodb: str = "") -> None:
    """Serve until SIGTERM, SIGINT, the end of standard input or the exit of the process *parent*."""
    # The workers must import from the zip and the layer, not from this source tree.
    os.environ.pop("PYTHONPATH", None)
    signal.signal(signal.SIGTERM, functools.partial(_end, directory))
    signal.signal(signal.SIGINT, functools.partial(_end, directory))
    speedups.apply()
    durable.apply()
    if dynamodb:
        _attach(dynamodb, directory)
    else:
        read_units.apply()
    request_checks.apply()
    recursive_loops.apply()
    failed_invocations.apply(directory)
    gateway = Gateway(emulator, _port(api_fd))
    threading.Thread(target=_listen, args=(gateway, sys.stdin), daemon=True).start()
    # A fork of the parent may keep standard input open, so the parent's pid is watched too.
    parent_watch.follow(parent, _ask_to_end)
    sockets = [socket.socket(fileno=fd) for fd in (api_fd, endpoint_fd)]
    asyncio.run(HostServer(settings(gateway)).serve(sockets))


def _attach(dynamodb: str, directory: Path) -> None:
    """Put the engine that *dynamodb* names in the place of the emulator's tables, or exit with the reason."""
    from fanin.local.dynamodb_engine.attaching import attach  # noqa: PLC0415  # a run without it does not need it

    try:
        attach(dynamodb, directory)
    except LocalRunError as error:
        sys.exit(str(error))


class HostServer(Server):
    """uvicorn's server without its signal handlers: those of this process end it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def settings(gateway: Gateway) -> Config:
    """Return the settings of the server: the emulator writes the headers of its answers itself."""
    return Config(
        LoopbackOnly(gateway),
        http="httptools",
        ws="wsproto",
        loop="asyncio",
        lifespan="on",
        timeout_keep_alive=75,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
    )


def _port(fd: int) -> int:
    sock = socket.socket(fileno=os.dup(fd))
    port: int = sock.getsockname()[1]
    sock.close()
    return port


def _listen(gateway: Gateway, stdin: TextIO) -> None:
    for line in stdin:
        gateway.api_id = line.strip()
    _ask_to_end()


def _ask_to_end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _end(directory: Path, *_: int | FrameType | None) -> None:
    """Remove the run's files and kill the process group, without waiting for requests in flight."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    leftovers.delete(directory)
    # Renamed first, so that threads that still invoke functions have no folder to unpack a worker into.
    gone = directory.with_name(f"{directory.name}-gone-{os.getpid()}")
    with suppress(FileNotFoundError):
        directory.rename(gone)
    os.killpg(0, signal.SIGTERM)
    remove_folder(gone)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
