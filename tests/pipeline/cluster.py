"""A standalone Spark cluster of two workers on two loopback addresses: speculation needs a second host."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from pipeline.spark.session import ROOT

HOSTS = ("127.0.0.1", "127.0.0.2")
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
READY_SECONDS = 120.0


def has_both_hosts() -> bool:
    """Whether a port can be had on both addresses: not every system has the second one."""
    try:
        for host in HOSTS:
            with socket.socket() as one:
                one.bind((host, 0))
    except OSError:
        return False
    return True


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The master's URL; its processes end with the body."""
    port = _free_port()
    master = f"spark://{HOSTS[0]}:{port}"
    running: list[subprocess.Popen[bytes]] = []
    try:
        running.append(_start(folder, "master", "--host", HOSTS[0], "--port", str(port), "--webui-port", "0"))
        _wait_for(folder / "master.log", "New state: ALIVE")
        for number, host in enumerate(HOSTS):
            place = ["--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
            work = ["--work-dir", str(folder / f"work-{number}"), master]
            running.append(_start(folder, "worker", *place, *work, name=f"worker-{number}"))
        for number in range(len(HOSTS)):
            _wait_for(folder / f"worker-{number}.log", "Successfully registered with master")
        yield master
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            process.wait(timeout=60)


def _start(folder: Path, kind: str, *args: str, name: str | None = None) -> subprocess.Popen[bytes]:
    room = "worker.Worker" if kind == "worker" else "master.Master"
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "shared"))),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_NO_DAEMONIZE": "1",
    }
    with (folder / f"{name or kind}.log").open("wb") as log:
        return subprocess.Popen(
            [SPARK_CLASS, f"org.apache.spark.deploy.{room}", *args], env=env, stdout=log, stderr=log
        )


def _wait_for(log: Path, words: str) -> None:
    over = time.monotonic() + READY_SECONDS
    while words not in (text := log.read_text(errors="replace")):
        if time.monotonic() > over:
            raise TimeoutError(
                f"{log.name} does not say {words!r} after {READY_SECONDS:.0f} s:\n{text[-2000:]}"
            )
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HOSTS[0], 0))
        return one.getsockname()[1]
