"""Feeds the messages of a queue of the local run to the user's function, as Lambda does.

Messages that the answer to a delivery does not name are deleted. The others, or all if the function raises,
runs out of time or ends its process, stay hidden until their visibility timeout and come back, until the
queue's ``maxReceiveCount`` makes them dead-letter messages.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fanin.client.consuming.records import returned_ids
from fanin.client.sqs_worker.in_flight import InFlight
from fanin.client.sqs_worker.messages import RECEIVED_MAX, Message
from fanin.client.sqs_worker.visibility import Leases
from fanin.client.sqs_worker.worker import Worker
from fanin.errors import InvalidRequest
from fanin.isolating import Record
from fanin.local.emulator_patches.lineage import INVOCATIONS_MAX, Chain
from fanin.local.user_function.function_process import FunctionProcess, InvocationFailed
from fanin.local.user_function.source import WorkSource
from fanin.local.user_function.source_changes import SourceChanges

CHECK_SECONDS = 0.3
WAIT_SECONDS = 1
"""A long poll, between which the files of the app are looked at."""
BATCH = 10
"""Messages of a delivery: Lambda's default of a queue."""
LOOP = (
    f"a message came back to the function {INVOCATIONS_MAX} times: Lambda drops the invocation, unless "
    "RecursiveLoop of the function is Allow, here --allow-loops"
)
NOT_PASSED_ON = ("AWS_",)
"""Variables of the user that could lead a request elsewhere: profiles, endpoints, credentials."""
Report = Callable[[str], object]
Failed = Callable[[str, str], object]


class Stop(Protocol):
    """Whether the command was asked to stop."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class FunctionPerformer:
    """Works by invocations of *function*, each of at most *timeout* seconds.

    *loops*: whether the function may loop, as its ``RecursiveLoop`` says on AWS. *failed*: is called with the
    name of a function and its error, for other processes.
    """

    function: FunctionProcess
    timeout: float
    report: Report
    loops: bool = False
    failed: Failed = lambda *_: None

    def perform(self, messages: Sequence[Message]) -> list[bool]:
        """Invoke the function once; return of each message whether it returns."""
        failed = self._invoked([message.record for message in messages])
        return [message.id in failed for message in messages]

    async def perform_in_task(self, message: Message) -> bool:
        """A process has no tasks."""
        raise NotImplementedError  # see above

    def settle(self, messages: Sequence[Message]) -> set[str]:
        """Return the ids of the messages that return: the function has acked the others."""
        return {message.id for message in messages if message.outcome}

    def _invoked(self, records: Sequence[Record]) -> set[str]:
        """Invoke the function once; return the ids of the messages that return."""
        everything = {record["messageId"] for record in records}
        event = self._event(records)
        if self._is_loop(event):
            self.report(LOOP)
            return everything
        try:
            returned = self._returned(self.function.invoke(event, self.timeout), everything)
        except InvocationFailed as error:
            self._fail(str(error), f"the invocation failed: {error}")
        except InvalidRequest as error:
            self._fail(str(error), str(error))
        else:
            if returned:
                self.failed(self.function.spec, f"{len(returned)} of {len(records)} messages return")
            return returned
        return everything

    def _event(self, records: Sequence[Record]) -> Mapping[str, Any]:
        """Return the event of an invocation."""
        return {"Records": records}

    def _returned(self, answer: Any, everything: set[str]) -> set[str]:
        """Return the ids of the messages that return. Raises InvalidRequest."""
        return returned_ids(answer, everything)

    def _fail(self, error: str, line: str) -> None:
        self.report(line)
        self.failed(self.function.spec, error)

    def _is_loop(self, event: Mapping[str, Any]) -> bool:
        """Return whether Lambda would drop the invocation."""
        chain = Chain.of_event(event)
        return chain is not None and chain.is_loop(self.function.spec) and not self.loops


class EventPerformer(FunctionPerformer):
    """Works by an invocation for each message, which is an event of the bus, as a rule invokes a function."""

    def _event(self, records: Sequence[Record]) -> Mapping[str, Any]:
        (record,) = records
        event: Mapping[str, Any] = json.loads(record["body"])
        return event

    def _returned(self, _answer: Any, _everything: set[str]) -> set[str]:
        return set()


@dataclass(slots=True)
class Feeder:
    """Feeds the function of *performer* from *source*, *batch* messages a delivery, one after the other."""

    source: WorkSource
    performer: FunctionPerformer
    folder: Path
    batch: int = BATCH
    sleep: Callable[[float], None] = time.sleep
    worker: Worker = field(init=False)
    _is_idle: bool = True
    _changes: SourceChanges = field(init=False)

    def __post_init__(self) -> None:
        in_flight = InFlight(self.batch, ahead=0, isolates=False, groups=False)
        self.worker = Worker(in_flight, Leases(self.source, None), self.performer)

    def run(self, stop: Stop) -> None:
        """Start the function and feed it until *stop*; the last delivery is finished."""
        self._load()
        try:
            while not stop.is_set():
                self.step()
        finally:
            self.performer.function.stop()

    def step(self) -> None:
        """Reload the app if its files changed, and deliver what waits in the queue."""
        function, report = self.performer.function, self.performer.report
        if self._changes.is_any():
            report("reloading: the files of the app changed")
            self._load()
        if not function.is_ready:
            self.sleep(CHECK_SECONDS)
        elif messages := self._received():
            self._is_idle = False
            self._deliver(messages)
            self._changes.include(function.files)
        elif not self._is_idle:
            self._is_idle, counts = True, self.worker.counts
            report(
                f"the queue is empty: {counts['deleted']:,} messages deleted, {counts['returned']:,} returned"
            )

    def _load(self) -> None:
        """Start the function anew, watching its files from before its start on."""
        function = self.performer.function
        self._changes = SourceChanges(self.folder)
        self._changes.include(function.files)
        function.restart()
        self._changes.include(function.files)
        if not function.is_ready:
            self.performer.report(
                f"{function.spec} was not loaded by {function.python} (--python takes another);"
                " it is tried again when a file changes"
            )
            self.performer.failed(function.spec, f"it was not loaded: {function.error}")

    def _received(self) -> list[Message]:
        """Return the messages of a delivery, after a second at the latest."""
        self.worker.wait = WAIT_SECONDS
        while self.worker.receive() == RECEIVED_MAX:
            self.worker.wait = 0
        return self.worker.start(self.batch)

    def _deliver(self, messages: Sequence[Message]) -> None:
        """Invoke the function, and delete what does not return; a second Ctrl-C releases the messages."""
        before = self.worker.counts["returned"]
        self.worker.perform(messages)
        self.worker.settle()
        while self.worker.delete():
            pass
        if failed := self.worker.counts["returned"] - before:
            line = f"{failed} of {len(messages)} messages return in {self.source.visibility} s"
            self.performer.report(line)


def environment_of_function(user: Mapping[str, str], run: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a function: the *user*'s, with AWS and fanin being those of the local run."""
    own = {name: value for name, value in user.items() if not name.startswith(NOT_PASSED_ON)}
    around = ",".join(filter(None, (own.get("NO_PROXY") or own.get("no_proxy"), "127.0.0.1")))
    # No bytecode: a file that is edited twice in a second may look like the cached one.
    more = {"NO_PROXY": around, "no_proxy": around, "PYTHONDONTWRITEBYTECODE": "1"}
    return {**own, **run, "AWS_REGION": run["AWS_DEFAULT_REGION"], **more}
