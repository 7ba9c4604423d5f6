"""The parent's side of the emulator: its sockets, its environment, its start and its end."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from subprocess import PIPE, STDOUT

import urllib3

from fanin.local.connection import CREDENTIALS
from fanin.local.errors import LocalRunError
from fanin.local.run_directories import Home, home_of

LOOPBACK = "127.0.0.1"
START_SECONDS = 60.0
LOG_LINES = 15
KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH")


@dataclass(slots=True)
class Emulator:
    """A running emulator: *port* is the API's, *endpoint* the URL of AWS."""

    port: int
    endpoint: str
    home: Home
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        """The API's address."""
        return f"http://{LOOPBACK}:{self.port}"

    def serve_api(self, api_id: str) -> None:
        """Let the API's port answer for *api_id*."""
        self._tell(f"{api_id}\n")

    def is_alive(self) -> bool:
        """Whether the child still runs."""
        return self.process.poll() is None

    def check(self) -> None:
        """Raise LocalRunError with the end of the log if the child is gone."""
        if not self.is_alive():
            raise LocalRunError(f"the emulator ended on its own; its log ends with:\n{self.last_words()}")

    def last_words(self) -> str:
        """The end of the log."""
        if not self.home.log.exists():
            return "(no log)"
        return "\n".join(self.home.log.read_text(errors="replace").splitlines()[-LOG_LINES:])

    def stop(self) -> None:
        """End the child, its workers and its files; fine to call twice."""
        # Not asked, but ended: a child that tidies up by itself goes on invoking meanwhile, and each worker
        # that it starts anew unpacks what was just removed.
        if self.is_alive():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._tell(None)
        self.home.remove()

    def _tell(self, text: str | None) -> None:
        """Send a line to the child's standard input, or with None its end; a dead child hears nothing."""
        voice = self.process.stdin
        if voice is None or voice.closed:
            return
        try:
            voice.close() if text is None else (voice.write(text), voice.flush())
        except BrokenPipeError:
            return


def start(port: int) -> Emulator:
    """Start the emulator with the API on *port* (0: a free one); it may not answer yet.

    Raises LocalRunError if the port is in use.
    """
    api, aws = _listen(port), _listen(0)
    try:
        home = home_of(api.getsockname()[1])
        lock = home.take()
        try:
            process = _spawn(home, api, aws, lock)
        finally:
            os.close(lock)
        return Emulator(api.getsockname()[1], f"http://{LOOPBACK}:{aws.getsockname()[1]}", home, process)
    finally:
        api.close()
        aws.close()


def wait_until_ready(emulator: Emulator) -> None:
    """Return when the emulator answers: its sockets take requests before, and keep them waiting."""
    try:
        with urllib3.PoolManager(retries=False, timeout=START_SECONDS) as pool:
            pool.request("GET", f"{emulator.endpoint}/_ministack/health")
    except urllib3.exceptions.HTTPError as error:
        emulator.check()
        raise LocalRunError(f"the emulator did not answer in {START_SECONDS:.0f} s") from error


def environment(user: Mapping[str, str], home: Home, port: int) -> dict[str, str]:
    """What the emulator and its Lambda workers see: no profile, proxy, endpoint or setting of the user."""
    return {
        **{name: user[name] for name in KEPT if name in user},
        **CREDENTIALS,
        "AWS_EC2_METADATA_DISABLED": "true",
        "BIND_HOST": LOOPBACK,
        "DOCKER_HOST": f"unix://{home.path}/no-docker.sock",
        "GATEWAY_PORT": str(port),
        "HOME": str(home.path),
        "IOT_MTLS_ENABLED": "0",
        "LAMBDA_EXECUTOR": "local",
        "LOG_LEVEL": "WARNING",
        "MINISTACK_HOST": LOOPBACK,
        "PYTHONUTF8": "1",
        "SFTP_ENABLED": "0",
        "STATE_DIR": str(home.path / "state"),
        "TMPDIR": str(home.scratch),
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
        return f"port {port} is in use; name another with --port, or --port 0 for any free one"
    return f"port {port} cannot be used: {error.strerror}"


def _spawn(home: Home, api: socket.socket, aws: socket.socket, lock: int) -> subprocess.Popen[str]:
    fds = (api.fileno(), aws.fileno())
    command = [sys.executable, "-m", "fanin.local.host", str(os.getpid()), str(home.path), *map(str, fds)]
    with home.log.open("w") as log:
        # A session of its own: Ctrl-C reaches the parent alone, and the whole group can be ended at once.
        return subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=PIPE,
            stdout=log,
            stderr=STDOUT,
            env=environment(os.environ, home, aws.getsockname()[1]),
            pass_fds=(*fds, lock),
            start_new_session=True,
            text=True,
        )
