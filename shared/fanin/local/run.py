"""A local run: starts the emulator, deploys the stack, and stops both."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import urllib3

from fanin.local.bus_listener import BusListener
from fanin.local.deploying import assembly
from fanin.local.deploying.assembly import Assembly
from fanin.local.deploying.deployment import Progress, deploy
from fanin.local.deploying.setting_names import refuse_unknown
from fanin.local.deployment_source import ORIGIN
from fanin.local.dynamodb_engine.checking import checked
from fanin.local.dynamodb_engine.dynamodb_option import SETTING
from fanin.local.emulator_process import emulator
from fanin.local.emulator_process.connection import Connection
from fanin.local.emulator_process.emulator import Emulator
from fanin.local.environment import environment_of
from fanin.local.errors import LocalRunError
from fanin.local.event_log import EventLog
from fanin.local.failures import FailureLog
from fanin.local.prerequisites import require
from fanin.local.run_directories import State

ANSWER_SECONDS = 120.0
CONSUMERS = 4
"""Concurrent Lambda invocations for one queue; each is a process on this machine."""


def _no_progress(_: str) -> None:
    """Ignore a progress message."""


class LocalRun:
    """A running deployment: ``url`` of the API, ``endpoint`` for AWS clients, ``outputs`` of the stack.

    A context manager that stops the run at its end. Its processes exit when this one does, even by SIGKILL.
    """

    def __init__(self, started: Emulator, outputs: Mapping[str, str], listener: BusListener) -> None:
        self.url = started.url
        self.endpoint = started.endpoint
        self.outputs = {**outputs, "ApiUrl": f"{self.url}/"}
        self.port = started.port
        self._emulator = started
        self._listener = listener

    @classmethod
    def start(
        cls,
        port: int = 0,
        page_bits: int | None = None,
        template_dir: Path | None = None,
        progress: Progress = _no_progress,
        command: bool = False,
        archive: bool = False,
        context: Mapping[str, object] | None = None,
        dynamodb: str | None = None,
    ) -> LocalRun:
        """Start a run on *port* (0: a free one) and return it when the API answers. Raises LocalRunError.

        *page_bits* sets the items on a page of a new batch;
        *template_dir* is an assembly to deploy instead of a synthesised one; *progress* is called with a
        text before each long step; *command* marks a run that ``fanin local down`` may end; *archive* deploys
        the archive too; *context* has more settings (`docs/settings.md`); *dynamodb*: `docs/local.md`.
        """
        settings = _context(archive, page_bits, template_dir, context or {})
        require()
        engine = _engine(dynamodb)
        started = emulator.start(port, engine)
        with _stopped_on_failure(started):
            progress("starting the emulator")
            _publish(started, {}, command, engine)
            source = template_dir or _synthesised(settings, progress)
            run = cls._deployed(started, _held(started, source), progress)
            _publish(started, run.outputs, command, engine)
        return run

    @classmethod
    def _deployed(cls, started: Emulator, source: Assembly, progress: Progress) -> LocalRun:
        emulator.wait_until_ready(started)
        aws = Connection(started.endpoint)
        outputs = deploy(source, aws, progress)
        started.serve_api(outputs["ApiId"])
        listener = BusListener(outputs["BusName"], aws, EventLog(started.directory.path))
        listener.start()
        run = cls(started, outputs, listener)
        progress("waiting for the API's first answer")
        try:
            run._wait_for_answer()
        except BaseException:  # the thread of this process would go on
            run.stop()
            raise
        return run

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def client(self, service: str) -> Any:
        """Return a boto3 client of the emulator."""
        return Connection(self.endpoint).client(service)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of a process that uses the run: API, AWS, tables, doorbells, tenant."""
        return environment_of(self.url, self.endpoint, self.outputs)

    @property
    def event_log(self) -> EventLog:
        """The last events that the run put on its bus."""
        return EventLog(self._emulator.directory.path)

    @property
    def failures(self) -> FailureLog:
        """The failures of functions."""
        return FailureLog(self._emulator.directory.path)

    def check(self) -> None:
        """Raise LocalRunError if the emulator has exited."""
        self._emulator.check()

    def stop(self) -> None:
        """Stop all processes and remove all files. May be called twice."""
        # The listener first: its poll ends within a second, and without the emulator it would be repeated.
        try:
            self._listener.stop()
        finally:
            self._emulator.stop()

    def _wait_for_answer(self) -> None:
        """Read a batch that does not exist until gateway, function and table answer 404.

        An API that requires a JWT answers 401.
        """
        address = f"{self.url}/v1/batches/{uuid.UUID(int=0)}"
        with urllib3.PoolManager(retries=False, timeout=ANSWER_SECONDS) as pool:
            status = 503
            while status == 503:
                self.check()
                status = _status(pool, address)
        if status not in (401, 404):
            raise LocalRunError(self._why(status))

    def _why(self, status: int) -> str:
        """Return why the API answers *status*: what failed, or else the end of the log."""
        failed = {f"{each.function}: {each.error}" for each in self.failures.new()}
        log = f"the log ends with:\n{self._emulator.log_tail()}"
        return f"the API answers {status}; {'; '.join(sorted(failed)) or log}"


def _status(pool: urllib3.PoolManager, address: str) -> int:
    try:
        return pool.request("GET", address).status
    except urllib3.exceptions.HTTPError as error:
        raise LocalRunError(f"the API did not answer in {ANSWER_SECONDS:.0f} s: {error}") from error


@contextmanager
def _stopped_on_failure(started: Emulator) -> Iterator[None]:
    try:
        yield
    except BaseException:
        started.stop()
        raise


def _engine(named: str | None) -> str:
    """Return what ``--dynamodb`` or its variable names, or nothing. Raises LocalRunError if it is unfit."""
    found = named or os.environ.get(SETTING)
    return checked(found) if found else ""


def _publish(started: Emulator, outputs: dict[str, str], command: bool, dynamodb: str) -> None:
    state = State(
        port=started.port,
        url=started.url,
        endpoint=started.endpoint,
        outputs=outputs,
        pid=os.getpid(),
        host=started.process.pid,
        command=command,
        checkout=str(ORIGIN.folder),
        dynamodb=dynamodb,
    )
    started.directory.write(state)


def _context(
    archive: bool,
    page_bits: int | None,
    template_dir: Path | None,
    given: Mapping[str, object],
) -> Mapping[str, object]:
    """Return the CDK context of the synthesis; *given* overrides all settings but the target.

    Raises LocalRunError for settings without effect, and for a template that this Python cannot run.
    """
    if given and template_dir:
        raise LocalRunError("-c has no effect with --template-dir, which deploys an existing template")
    if template_dir:
        assembly.require_python(Assembly.read(template_dir), template_dir)
    if given.get("target", "local") != "local":
        raise LocalRunError("the target of a local run is local; remove the setting target")
    refuse_unknown(given)
    context: dict[str, object] = {"stage": "local", "target": "local", "consumer_concurrency": CONSUMERS}
    context["results"] = context["progress_tokens"] = True
    if archive:
        context["archive"] = True
    if page_bits is not None:
        context["page_bits"] = page_bits
    return {**context, **given}


def _held(started: Emulator, folder: Path) -> Assembly:
    """Return the assembly in *folder*; a cached one is kept as long as the emulator may import its files."""
    is_cached = folder.parent == ORIGIN.cache
    if is_cached:
        started.assembly = assembly.hold(folder)
    return Assembly.read(folder, is_cached)


def _synthesised(context: Mapping[str, object], progress: Progress) -> Path:
    kept = assembly.kept_assembly(ORIGIN, context)
    if kept is not None:
        return kept
    progress("synthesising the deployment (half a minute; kept for the next time)")
    return assembly.synthesise(ORIGIN, context)
