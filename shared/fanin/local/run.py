"""One local run, from nothing to an API that answers, and back to nothing."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import urllib3

from fanin.local import assembly, emulator
from fanin.local.assembly import ROOT, Assembly
from fanin.local.connection import Connection
from fanin.local.deployment import Progress, Stack, deploy
from fanin.local.emulator import Emulator
from fanin.local.environment import environment_of
from fanin.local.errors import LocalRunError
from fanin.local.pipe import Pipe
from fanin.local.pipe_runner import PipeRunner
from fanin.local.prerequisites import require
from fanin.local.run_directories import State

ANSWER_SECONDS = 30.0
CONSUMERS = 4
"""Lambdas a queue: each is a process here, and a dozen on a few cores would only be in each other's way."""


def _silent(_: str) -> None:
    """Progress for nobody."""


class LocalRun:
    """The deployment, running: ``url`` of the API, ``endpoint`` of AWS, ``outputs`` of the stack.

    A context manager that stops at its end. If this process dies, however it dies, everything goes with it.
    """

    def __init__(self, started: Emulator, stack: Stack, pipe: PipeRunner) -> None:
        self.url = started.url
        self.endpoint = started.endpoint
        self.outputs = {**stack.outputs, "ApiUrl": f"{self.url}/"}
        self.port = started.port
        self._emulator = started
        self._pipe = pipe

    @classmethod
    def start(
        cls,
        port: int = 0,
        demo: bool = False,
        page_bits: int | None = None,
        template_dir: Path | None = None,
        progress: Progress = _silent,
        command: bool = False,
        archive: bool = False,
        context: Mapping[str, object] | None = None,
    ) -> LocalRun:
        """Start on *port* (0: a free one) and return when the API answers. Raises LocalRunError.

        *demo* deploys the demo's parts too; *page_bits* sets the items on a page of a new batch;
        *template_dir* is an assembly to deploy in place of a synthesised one; *progress* hears each long
        step; *command* marks a run that ``fanin local down`` may end; *archive* deploys the archive of the
        tables' changes, too; *context* holds more settings of the stack, as `docs/settings.md` has them.
        """
        settings = _context(demo, archive, page_bits, template_dir, context or {})
        require()
        started = emulator.start(port)
        with _stopped_on_failure(started):
            progress("starting the emulator")
            _publish(started, {}, command)
            source = template_dir or _synthesised(settings, progress)
            run = cls._deployed(started, Assembly.read(source), progress)
            _publish(started, run.outputs, command)
        return run

    @classmethod
    def _deployed(cls, started: Emulator, source: Assembly, progress: Progress) -> LocalRun:
        emulator.wait_until_ready(started)
        aws = Connection(started.endpoint)
        stack = deploy(source, aws, progress)
        started.serve_api(stack.outputs["ApiId"])
        pipe = PipeRunner(Pipe.of(source.template, stack.resources), aws)
        pipe.start()
        run = cls(started, stack, pipe)
        progress("waiting for the API's first answer")
        run._wait_for_answer()
        return run

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def client(self, service: str) -> Any:
        """A boto3 client of the emulator."""
        return Connection(self.endpoint).client(service)

    @property
    def environment(self) -> dict[str, str]:
        """What another process needs in its environment: AWS, and the names of tables and doorbells."""
        return environment_of(self.endpoint, self.outputs)

    def check(self) -> None:
        """Raise LocalRunError if the emulator has ended on its own."""
        self._emulator.check()

    def stop(self) -> None:
        """End everything and remove every file; fine to call twice."""
        self._pipe.stopped.set()
        self._emulator.stop()
        self._pipe.stop()

    def _wait_for_answer(self) -> None:
        """Ask for a batch that cannot be there: gateway, function and table have to work to deny it.

        An API that asks for a JWT refuses a request without one by itself.
        """
        address = f"{self.url}/v1/batches/{uuid.UUID(int=0)}"
        with urllib3.PoolManager(retries=False, timeout=ANSWER_SECONDS) as pool:
            status = 503
            while status == 503:
                self.check()
                status = pool.request("GET", address).status
        if status not in (401, 404):
            raise LocalRunError(
                f"the API answers {status}; the log ends with:\n{self._emulator.last_words()}"
            )


@contextmanager
def _stopped_on_failure(started: Emulator) -> Iterator[None]:
    try:
        yield
    except BaseException:
        started.stop()
        raise


def _publish(started: Emulator, outputs: dict[str, str], command: bool) -> None:
    state = State(
        port=started.port,
        url=started.url,
        endpoint=started.endpoint,
        outputs=outputs,
        pid=os.getpid(),
        host=started.process.pid,
        command=command,
        checkout=str(ROOT),
    )
    started.home.write(state)


def _context(
    demo: bool,
    archive: bool,
    page_bits: int | None,
    template_dir: Path | None,
    given: Mapping[str, object],
) -> Mapping[str, object]:
    """What the synthesis is told: *given* goes before all else, but for where it is deployed."""
    if given and template_dir:
        raise LocalRunError("settings go into a synthesis; --template-dir deploys one that was made before")
    if given.get("target", "local") != "local":
        raise LocalRunError("target is local for a local run; leave it out")
    context = {"stage": "local", "target": "local", "demo": demo, "consumer_concurrency": CONSUMERS}
    if archive:
        context["archive"] = True
    if page_bits is not None:
        context["page_bits"] = page_bits
    return {**context, **given}


def _synthesised(context: Mapping[str, object], progress: Progress) -> Path:
    kept = assembly.kept_assembly(ROOT, context)
    if kept is not None:
        return kept
    progress("synthesising the deployment (half a minute; kept for the next time)")
    return assembly.synthesise(ROOT, context)
