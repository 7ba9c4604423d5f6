"""The emulator as its parent process sees it: sockets, environment, start and stop."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from subprocess import PIPE, STDOUT

import urllib3

from fanin.local.emulator_process.connection import CREDENTIALS
from fanin.local.errors import LocalRunError
from fanin.local.run_directories import RunDirectory, directory_of, running

LOOPBACK = "127.0.0.1"
START_SECONDS = 60.0
EXIT_SECONDS = 2.0
LOG_LINES = 15
KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "FANIN_LOCAL_FORK")


@dataclass(slots=True)
class Emulator:
    """A running emulator: *port* is the API's, *endpoint* the URL for AWS clients.

    *assembly*: a descriptor that holds the cached assembly whose files its functions import.
    """

    port: int
    endpoint: str
    directory: RunDirectory
    process: subprocess.Popen[str]
    assembly: int | None = None

    @property
    def url(self) -> str:
        """The API's address."""
        return f"http://{LOOPBACK}:{self.port}"

    def serve_api(self, api_id: str) -> None:
        """Serve the API with id *api_id* on the API's port."""
        self._send(f"{api_id}\n")

    def is_alive(self) -> bool:
        """Return whether the child process runs."""
        return self.process.poll() is None

    def check(self) -> None:
        """Raise LocalRunError with the end of the log if the child process has exited."""
        if not self.is_alive():
            raise LocalRunError(f"the emulator exited unexpectedly; its log ends with:\n{self.log_tail()}")

    def log_tail(self) -> str:
        """Return the last lines of the log."""
        if not self.directory.log.exists():
            return "(no log)"
        return "\n".join(self.directory.log.read_text(errors="replace").splitlines()[-LOG_LINES:])

    def stop(self) -> None:
        """Kill the child process and its workers and remove their files. May be called twice."""
        # SIGKILL, not SIGTERM: during its own shutdown the emulator goes on invoking functions, and each new
        # worker would unpack files that were just removed.
        if self.is_alive():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._send(None)
        self.directory.remove()
        if self.assembly is not None:
            os.close(self.assembly)
            self.assembly = None

    def _send(self, text: str | None) -> None:
        """Write *text* to the child's standard input, or close it for None; ignore an exited child."""
        stdin = self.process.stdin
        if stdin is None or stdin.closed:
            return
        try:
            stdin.close() if text is None else (stdin.write(text), stdin.flush())
        except BrokenPipeError:
            return


def start(port: int, dynamodb: str = "") -> Emulator:
    """Start the emulator with the API on *port* (0: a free one) and return it; it may not answer yet.

    *dynamodb*: what ``--dynamodb`` names, if anything. Raises LocalRunError if the port is in use.
    """
    api, aws = _listen(port), _listen(0)
    try:
        directory = directory_of(api.getsockname()[1])
        lock = directory.take()
        try:
            process = _spawn(directory, api, aws, lock, dynamodb)
        finally:
            os.close(lock)
        return Emulator(api.getsockname()[1], f"http://{LOOPBACK}:{aws.getsockname()[1]}", directory, process)
    finally:
        api.close()
        aws.close()


def wait_until_ready(emulator: Emulator) -> None:
    """Return when the emulator answers; its sockets accept requests earlier and hold them."""
    try:
        with urllib3.PoolManager(retries=False, timeout=START_SECONDS) as pool:
            pool.request("GET", f"{emulator.endpoint}/_ministack/health")
    except urllib3.exceptions.HTTPError as error:
        # A process that exits closes its sockets a moment before its exit is known.
        with suppress(subprocess.TimeoutExpired):
            emulator.process.wait(EXIT_SECONDS)
        emulator.check()
        raise LocalRunError(f"the emulator did not answer in {START_SECONDS:.0f} s") from error


def environment(user: Mapping[str, str], directory: RunDirectory, port: int) -> dict[str, str]:
    """Return the emulator's environment, without the user's profiles, proxies, endpoints and settings."""
    return {
        **{name: user[name] for name in KEPT if name in user},
        **CREDENTIALS,
        "AWS_EC2_METADATA_DISABLED": "true",
        "BIND_HOST": LOOPBACK,
        "DOCKER_HOST": f"unix://{directory.path}/no-docker.sock",
        "GATEWAY_PORT": str(port),
        "HOME": str(directory.path),
        "IOT_MTLS_ENABLED": "0",
        "LAMBDA_EXECUTOR": "local",
        "LOG_LEVEL": "WARNING",
        "MINISTACK_HOST": LOOPBACK,
        "PYTHONUTF8": "1",
        "SFTP_ENABLED": "0",
        "STATE_DIR": str(directory.path / "state"),
        "TMPDIR": str(directory.scratch),
        "TZ": "UTC",
    }


def _listen(port: int) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        sock.bind((LOOPBACK, port))
        sock.listen(511)
    except OSError as error:
        sock.close()
        raise LocalRunError(_refusal(port, error)) from error
    return sock


def _refusal(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        is_run = any(state.port == port for state in running())
        user = " by a local run, which `fanin local down` stops" if is_run else ""
        return f"port {port} is in use{user}; name another with --port, or --port 0 for any free one"
    return f"port {port} cannot be used: {error.strerror}"


def _spawn(
    directory: RunDirectory, api: socket.socket, aws: socket.socket, lock: int, dynamodb: str
) -> subprocess.Popen[str]:
    fds = (api.fileno(), aws.fileno())
    command = [
        sys.executable,
        "-m",
        "fanin.local.emulator_process.host",
        str(os.getpid()),
        str(directory.path),
        *map(str, fds),
        *([dynamodb] if dynamodb else []),
    ]
    with directory.log.open("w") as log:
        # In a session of its own, so that Ctrl-C reaches the parent only and the group can be killed at once.
        return subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=PIPE,
            stdout=log,
            stderr=STDOUT,
            env=environment(os.environ, directory, aws.getsockname()[1]),
            pass_fds=(*fds, lock),
            start_new_session=True,
            text=True,
        )
