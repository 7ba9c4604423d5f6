"""Feeds the messages of a queue of the local run to the user's function, as Lambda does.

Messages that the answer to a delivery does not name are deleted. The others, or all if the function raises,
runs out of time or ends its process, stay hidden until their visibility timeout and come back, until the
queue's ``maxReceiveCount`` makes them dead-letter messages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fanin.client.consuming.deliveries import returned_ids
from fanin.errors import InvalidRequest
from fanin.local.emulation.lineage import INVOCATIONS_MAX, Chain
from fanin.local.work.function_process import FunctionProcess, InvocationFailed
from fanin.local.work.source import Message, WorkSource
from fanin.local.work.source_changes import SourceChanges

CHECK_SECONDS = 0.3
BATCH = 10
"""Messages of a delivery: Lambda's default of a queue."""
LOOP = (
    f"a message came back to the function {INVOCATIONS_MAX} times: Lambda drops the invocation, unless "
    "RecursiveLoop of the function is Allow, here --allow-loops"
)
NOT_PASSED_ON = ("AWS_",)
"""Variables of the user that could lead a request elsewhere: profiles, endpoints, credentials."""
Report = Callable[[str], object]


class Stop(Protocol):
    """Whether the command was asked to stop."""

    def is_set(self) -> bool: ...


@dataclass(slots=True)
class Worker:
    """Feeds *function* from *source*, *batch* messages a delivery. *timeout*: seconds of an invocation.

    *loops*: whether the function may loop, as its ``RecursiveLoop`` says on AWS.
    """

    source: WorkSource
    function: FunctionProcess
    timeout: float
    folder: Path
    report: Report
    batch: int = BATCH
    loops: bool = False
    sleep: Callable[[float], None] = time.sleep
    deleted: int = 0
    returned: int = 0
    _is_idle: bool = True
    _changes: SourceChanges = field(init=False)

    def run(self, stop: Stop) -> None:
        """Start the function and feed it until *stop*; the last delivery is finished."""
        self._load()
        try:
            while not stop.is_set():
                self.step()
        finally:
            self.function.stop()

    def step(self) -> None:
        """Reload the app if its files changed, and deliver what waits in the queue."""
        if self._changes.is_any():
            self.report("reloading: the files of the app changed")
            self._load()
        if not self.function.is_ready:
            self.sleep(CHECK_SECONDS)
        elif messages := self.source.receive(self.batch):
            self._is_idle = False
            self._deliver(messages)
            self._changes.include(self.function.files)
        elif not self._is_idle:
            self._is_idle = True
            self.report(f"the queue is empty: {self.deleted:,} messages deleted, {self.returned:,} returned")

    def _load(self) -> None:
        """Start the function anew, watching its files from before its start on."""
        self._changes = SourceChanges(self.folder)
        self._changes.include(self.function.files)
        self.function.restart()
        self._changes.include(self.function.files)
        if not self.function.is_ready:
            self.report(f"{self.function.spec} was not loaded; it is tried again when a file changes")

    def _deliver(self, messages: Sequence[Message]) -> None:
        try:
            failed = self._invoked(messages)
        except BaseException:  # Ctrl-C, for the second time
            self.source.release(messages)
            raise
        self.source.delete(each for each in messages if each["MessageId"] not in failed)
        self.deleted += len(messages) - len(failed)
        self.returned += len(failed)
        if failed:
            self.report(f"{len(failed)} of {len(messages)} messages return in {self.source.visibility} s")

    def _invoked(self, messages: Sequence[Message]) -> set[str]:
        """Invoke the function once; return the ids of the messages that return."""
        everything = {each["MessageId"] for each in messages}
        event = {"Records": [self.source.record(each) for each in messages]}
        if self._is_loop(event):
            self.report(LOOP)
            return everything
        try:
            return returned_ids(self.function.invoke(event, self.timeout), everything)
        except InvocationFailed as error:
            self.report(f"the invocation failed: {error}")
        except InvalidRequest as error:
            self.report(str(error))
        return everything

    def _is_loop(self, event: Mapping[str, Any]) -> bool:
        """Return whether Lambda would drop the invocation."""
        chain = Chain.of_event(event)
        return chain is not None and chain.is_loop(self.function.spec) and not self.loops


def environment_of_function(user: Mapping[str, str], run: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a function: the *user*'s, with AWS and fanin being those of the local run."""
    own = {name: value for name, value in user.items() if not name.startswith(NOT_PASSED_ON)}
    around = ",".join(filter(None, (own.get("NO_PROXY") or own.get("no_proxy"), "127.0.0.1")))
    # No bytecode: a file that is edited twice in a second may look like the cached one.
    more = {"NO_PROXY": around, "no_proxy": around, "PYTHONDONTWRITEBYTECODE": "1"}
    return {**own, **run, "AWS_REGION": run["AWS_DEFAULT_REGION"], **more}
