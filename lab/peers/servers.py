"""The engines below the trackers: a Redis without persistence, and the emulator's DynamoDB."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fanin.local.emulator_process import emulator
from lab.peers.sites.redis_client import HOST, Redis, RedisError

START_SECONDS = 20.0


@contextmanager
def redis_server() -> Iterator[int]:
    """Yield the port of a Redis of our own, in memory alone, which ends with the block."""
    port = _free_port()
    with TemporaryDirectory() as folder:
        options = {"port": port, "bind": HOST, "save": "", "appendonly": "no", "dir": folder}
        arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        with (Path(folder) / "log").open("w") as log:
            process = subprocess.Popen(["redis-server", *arguments], stdout=log)  # noqa: S603, S607
        try:
            _wait(port, process)
            yield port
        finally:
            process.kill()
            process.wait()


@contextmanager
def dynamodb() -> Iterator[str]:
    """Yield the endpoint of an emulator, without functions or streams."""
    started = emulator.start(0)
    try:
        emulator.wait_until_ready(started)
        yield started.endpoint
    finally:
        started.stop()


def _free_port() -> int:
    with closing(socket.socket()) as sock:
        sock.bind((HOST, 0))
        port: int = sock.getsockname()[1]
        return port


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with closing(Redis(port)) as redis:
                redis.call("PING")
                return
        except (OSError, RedisError):
            time.sleep(0.05)
    raise RuntimeError(f"redis-server did not answer in {START_SECONDS:.0f} s")
