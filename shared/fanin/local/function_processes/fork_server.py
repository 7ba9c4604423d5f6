"""The process from which the functions of a local run are forked, so that a new one imports little.

It is run by its path under the interpreter of the run and imports the standard library alone: what functions
import must come from their code and their layer. It loads ``LIBRARIES`` from there, opens no connection and
starts no thread, and then forks a process for each request on its socket.

Requests and answers are JSON documents, one in each packet. The first answer is that of the start: ``read``
has the environment variables that the libraries read, ``can_fork`` is false if they started a thread. A
request has ``script``, ``cwd`` and ``env``, and the standard input, output and error of the function as file
descriptors; its answer is ``pid``. The new process is a child of the nearest subreaper, not of this process.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

LIBRARIES = (
    "botocore.session",
    "botocore.client",
    "botocore.handlers",
    "botocore.httpsession",
    "aws_lambda_powertools",
    "aws_lambda_powertools.event_handler",
    "aws_lambda_powertools.event_handler.middlewares.openapi_validation",
    "fanin.api.answers.batch_answers",
    "fanin.api.answers.documents",
    "fanin.api.answers.group_answers",
    "fanin.api.answers.maps",
    "fanin.api.answers.queue_answers",
    "fanin.api.requests.batch_requests",
    "fanin.api.requests.group_requests",
    "fanin.api.requests.job_requests",
    "fanin.aws.clients",
    "fanin.settings.settings_file",
    "fanin.client.consuming.adapter",
    "fanin.client.transports.direct_acks",
    "fanin.grouper.dynamodb",
    "fanin.grouper.listing",
    "fanin.grouper.settings.parsing",
    "fanin.grouper.service",
    "fanin.queue.dynamodb.store",
    "fanin.queue.sqs",
    "fanin.tracker.dynamodb.store",
    "fanin.tracker.service",
)
"""What most functions import. Nothing that makes a client or a connection."""
PACKET_BYTES = 1 << 20
STANDARD = (0, 1, 2)
DESCRIPTORS = "/proc/self/fd"
TASKS = Path("/proc/self/task")
"""The threads of this process, also those of native code."""


class Recorded(type(os.environ)):  # type: ignore[misc]  # the class has no public name
    """The environment, which notes the variables that are read."""

    read: dict[str, str | None] = {}  # noqa: RUF012  # of the process, as the environment is

    def __getitem__(self, name: str) -> Any:
        self.read[name] = None
        value = super().__getitem__(name)
        self.read[name] = value
        return value


def main(control: int, folders: Sequence[str]) -> None:
    """Load the libraries from *folders*, and fork until the socket *control* is closed."""
    requests = socket.socket(fileno=control)
    # The function's own folder comes first; this one, of the local run, must not be seen.
    sys.path[:1] = folders
    read = loaded(list(of_function(LIBRARIES, folders)))
    can_fork = len(list(TASKS.iterdir())) == 1
    gc.collect()
    gc.freeze()  # so that a collection in a child copies no page of these objects
    requests.send(json.dumps({"read": read, "can_fork": can_fork}).encode())
    while can_fork:
        packet, ends, _, _ = socket.recv_fds(requests, PACKET_BYTES, len(STANDARD))
        if not packet:
            return
        request = json.loads(packet)
        pid = orphan(lambda: become(request, ends, len(folders), requests))  # noqa: B023  # within this turn
        for end in ends:
            os.close(end)
        requests.send(json.dumps({"pid": pid}).encode())


def of_function(libraries: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
    """Yield those of *libraries* whose package is in *folders*; the function seldom imports any other."""
    for name in libraries:
        package = name.partition(".")[0]
        if any(os.path.isdir(os.path.join(folder, package)) for folder in folders):
            yield name


def loaded(libraries: Sequence[str]) -> Mapping[str, str | None]:
    """Import those of *libraries* that exist; return the environment variables that they read."""
    usual = type(os.environ)
    os.environ.__class__ = Recorded
    try:
        for name in libraries:
            with suppress(ImportError):
                importlib.import_module(name)
    finally:
        os.environ.__class__ = usual
    return Recorded.read


def orphan(child: Callable[[], NoReturn]) -> int:
    """Run *child* in a process whose parent has exited; return its id."""
    reading, writing = os.pipe()
    between = os.fork()
    if between == 0:
        pid = os.fork()
        if pid == 0:
            child()
        os.write(writing, str(pid).encode())
        os._exit(0)
    os.waitpid(between, 0)
    pid = int(os.read(reading, 32))
    for end in (reading, writing):
        os.close(end)
    return pid


def become(
    request: Mapping[str, Any], ends: Sequence[int], folders: int, requests: socket.socket
) -> NoReturn:
    """Run the script of *request* as if this interpreter had been started with it."""
    for number, end in zip(STANDARD, ends, strict=True):
        os.dup2(end, number)
    requests.detach()  # else it would close its number once more at the exit, which the function uses by then
    _close_others()
    script = request["script"]
    _forget_the_fork()
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    os.chdir(request["cwd"])
    sys.argv = [script]
    sys.path[:folders] = [os.path.dirname(script)]
    _open_standard()
    sys.modules["__main__"] = main_module = ModuleType("__main__")
    main_module.__file__ = script
    exec(compile(Path(script).read_bytes(), script, "exec"), main_module.__dict__)  # noqa: S102
    sys.exit()


def _forget_the_fork() -> None:
    """Let the function's clients be those of a new process: the parent had made none."""
    forget = getattr(sys.modules.get("fanin.aws.forking"), "forget", None)  # an older layer has none
    if forget:
        forget()


def _close_others() -> None:
    """Close all descriptors but the standard ones.

    By their list: a loop over all numbers takes minutes where a container sets no limit, and this Python
    may have been built without ``close_range``.
    """
    for number in map(int, os.listdir(DESCRIPTORS)):
        if number not in STANDARD:
            with suppress(OSError):  # that of the list itself
                os.close(number)


def _open_standard() -> None:
    """Open the standard streams as the interpreter opened those of this process at its start."""
    sys.stdin = sys.__stdin__ = _opened(sys.__stdin__, 0, "r")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _opened(sys.__stdout__, 1, "w")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _opened(sys.__stderr__, 2, "w", buffering=1)  # type: ignore[misc]


def _opened(like: Any, number: int, mode: str, buffering: int = -1) -> Any:
    """Open the descriptor *number* with the encoding of the stream *like*."""
    return open(number, mode, buffering, like.encoding, like.errors, closefd=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
