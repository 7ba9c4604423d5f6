"""Amazon's DynamoDB Local as a process of the run, from a folder of the user's.

The project neither ships nor fetches it: its licence is between Amazon and its user.
"""

from __future__ import annotations

import ctypes
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from fanin.local.dynamodb_engine.dynamodb_option import JAR
from fanin.local.dynamodb_engine.engine import Engine, EngineLost
from fanin.local.errors import LocalRunError

LOOPBACK = "127.0.0.1"
START_SECONDS = 30.0
POLL_SECONDS = 0.05
PR_SET_PDEATHSIG = 1
NO_JAVA = "DynamoDB Local needs Java 17 or newer, and there is no java in PATH; install it"


def require_java() -> None:
    """Raise LocalRunError if there is no ``java``."""
    if shutil.which("java") is None:
        raise LocalRunError(f"--dynamodb: {NO_JAVA}")


def start(folder: Path, work: Path) -> Engine:
    """Start DynamoDB Local in memory, in the folder *work*, and return it when it answers.

    It listens on all addresses of the machine, and has tables for each access key. So the key is a secret of
    the run: who does not know it finds no table. The process ends with this one.
    """
    port = _free_port()
    process = subprocess.Popen(  # noqa: S603 - Java, with the folder that the user named
        command(folder, port),
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        preexec_fn=_end_with_parent,  # noqa: PLW1509  # one call of the C library
    )
    engine = Engine(f"http://{LOOPBACK}:{port}", secrets.token_hex(16))
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            engine.ask("ListTables", {})
            return engine
        except EngineLost:
            time.sleep(POLL_SECONDS)
    code = process.poll()
    process.kill()
    reason = f"no answer in {START_SECONDS:.0f} s" if code is None else f"exit code {code}"
    raise LocalRunError(
        f"--dynamodb: DynamoDB Local in {folder} did not start ({reason}); see its output above"
    )


def command(folder: Path, port: int) -> list[str]:
    """Return the command line of DynamoDB Local: in memory, without telemetry, on *port*."""
    return [
        "java",
        "-XX:+UseSerialGC",
        f"-Djava.library.path={folder / 'DynamoDBLocal_lib'}",
        "-jar",
        str(folder / JAR),
        *("-inMemory", "-disableTelemetry", "-port", str(port)),
    ]


def _end_with_parent() -> None:
    """Have Linux end the process with its parent; elsewhere it is of the group that the run kills."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind((LOOPBACK, 0))
        port: int = sock.getsockname()[1]
        return port
