"""Runs tests of one warm pytest process against mutants, each in a child that is forked for it."""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, settings

from tests.mutation.mutants import Mutant
from tests.mutation.planting import Garden, Unplantable
from tests.mutation.reach import Probes, Reached
from tests.mutation.rooms import ROOT
from tests.request_rules import shapes

CPU_SECONDS, CPU_FACTOR = 1.0, 10.0
"""A test may take this much CPU time and so many times what it takes without a mutant."""
WALL_SECONDS, WALL_FACTOR = 20.0, 60.0
OPTIONS = (
    "-qq",
    "-p",
    "no:cacheprovider",
    "-n",
    "0",
    "--timeout=0",
    "--tb=no",
    "--no-header",
    "--no-summary",
    "-s",
)
"""Tests are collected once, and their failures are not printed."""
ADDRESS_SPACE = 6 << 30


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of a mutant: killed, timeout, survived or unplantable. *by*: the test that noticed it."""

    status: str
    by: str = ""
    tests: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Job:
    """A mutant, and the tests that reach it, in the order in which they run."""

    mutant: Mutant
    tests: Sequence[str]


class Bench:
    """The collected tests of one process, warm: what they import and cache is there before each fork."""

    def __init__(self, session: pytest.Session, sources: Iterable[str]) -> None:
        self.items = {item.nodeid: item for item in session.items}
        for file in sources:
            importlib.import_module(file.removeprefix("shared/").removesuffix(".py").replace("/", "."))
        self._warm_up()
        self.garden = Garden(ROOT, ("shared/fanin",))
        gc.collect()
        gc.freeze()

    def _warm_up(self) -> None:
        """Run a test of each kind, so that clients and their models are loaded before the first fork."""
        kinds: dict[str, pytest.Item] = {}
        for name, item in self.items.items():
            if "dynamodb" in name or "seeds.py" in name:
                kinds.setdefault(name.partition("::")[0].rpartition("/")[0], item)
        with _quiet():
            for item in kinds.values():
                run(item, None)

    def trace(
        self, files: Sequence[str], sources: Sequence[str], keep: Callable[[str, dict[str, Reached]], None]
    ) -> None:
        """Run the tests of *files* in a child each, and *keep* what they reach of the modules *sources*."""
        for file in files:
            chosen = [item for name, item in self.items.items() if name.partition("::")[0] == file]
            child = _Child(lambda chosen=chosen: self._traced(chosen, sources))  # type: ignore[misc]
            try:
                keep(file, {name: Reached(*row) for name, row in child.result().items()})
            except RuntimeError as error:
                print(f"{file} judges no mutants: {error}", flush=True)

    def _traced(self, items: Sequence[pytest.Item], sources: Sequence[str]) -> dict[str, Any]:
        probes, found = Probes(), {}
        probes.plant(self.garden, sources)
        for item, following in zip(items, [*items[1:], None], strict=True):
            began = time.process_time()
            passed = run(item, following)
            found[item.nodeid] = (round(time.process_time() - began, 4), passed, probes.taken())
        return found

    def judge(
        self, jobs: Iterable[Job], seconds: dict[str, float], processes: int
    ) -> Iterator[tuple[Mutant, Found]]:
        """Yield the outcome of each mutant, as they end."""
        living: dict[int, tuple[Mutant, _Child]] = {}
        for job in jobs:
            child = _Child(lambda job=job: self._judged(job, seconds))  # type: ignore[misc]
            living[child.pid] = (job.mutant, child)
            if len(living) >= processes:
                yield _ended(living)
        while living:
            yield _ended(living)

    def _judged(self, job: Job, seconds: dict[str, float]) -> list[Any]:
        try:
            self.garden.plant(job.mutant)
        except Unplantable as error:
            return ["unplantable", str(error), 0]
        count = 0
        for test, passed in self._outcomes(job.tests, seconds):
            count += 1
            if not passed:
                return ["killed", test, count]
        return ["survived", "", count]

    def _outcomes(self, tests: Sequence[str], seconds: dict[str, float]) -> Iterator[tuple[str, bool]]:
        """Run *tests*; a test that takes too long ends this process."""
        items = [self.items[test] for test in tests if test in self.items]
        for item, following in zip_longest(items, items[1:]):
            usual = seconds.get(item.nodeid, 1.0)
            _Child.note(item.nodeid)
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS + CPU_FACTOR * usual)
            signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS + WALL_FACTOR * usual)
            yield item.nodeid, run(item, following)


def run(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Run one test; whether it passes."""
    return all(not report.failed for report in runtestprotocol(item, nextitem=following, log=False))


def collected(tests: Sequence[str], work: Callable[[pytest.Session], None]) -> int:
    """Collect *tests* in this process, and call *work* with the session instead of running them."""
    settings.register_profile(
        "mutation",
        max_examples=50,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    return int(pytest.main([*OPTIONS, *tests], plugins=[_Plugin(work)]))


class _Plugin:
    def __init__(self, work: Callable[[pytest.Session], None]) -> None:
        self.work = work

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Examples are the same each time, none is made smaller: a failure is all that counts.

        A changed expression is no listed one, which shows nothing of the tests.
        """
        settings.load_profile("mutation")
        shapes.CHECKED = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("the tests cannot be collected")
        self.work(session)
        return True


class _Child:
    """A forked process, what it returned, and the test that it was at.

    It writes into a file: a pipe would stay open where a test leaves a process behind.
    """

    file: int = -1

    def __init__(self, work: Callable[[], Any]) -> None:
        self.began = time.monotonic()
        self.sent = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is read
        self.pid = os.fork()
        if self.pid:
            return
        _Child.file = self.sent.fileno()
        status = 1
        try:
            _isolate()
            self._send({"result": work()})
            status = 0
        except BaseException as error:
            self._send({"error": f"{type(error).__name__}: {error}"})
        finally:
            os._exit(status)

    @classmethod
    def note(cls, test: str) -> None:
        cls._send({"at": test})

    @classmethod
    def _send(cls, line: dict[str, Any]) -> None:
        data = (json.dumps(line) + "\n").encode()
        while data:
            data = data[os.write(cls.file, data) :]

    def lines(self) -> list[dict[str, Any]]:
        """Wait for the end of the process; all that it sent."""
        os.waitpid(self.pid, 0)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with self.sent as stream:
            stream.seek(0)
            sent = stream.read().decode().splitlines()
        return [json.loads(line) for line in sent]

    def result(self) -> Any:
        """Wait for the result; raise RuntimeError where there is none."""
        lines = self.lines()
        if not lines or "result" not in lines[-1]:
            raise RuntimeError(f"a child gave no result: {lines[-1:]}")
        return lines[-1]["result"]

    def found(self) -> Found:
        """Wait for the outcome of a mutant; a child that was ended had a test that took too long."""
        lines = self.lines()
        last = lines[-1] if lines else {}
        seconds = time.monotonic() - self.began
        if "result" in last:
            return Found(*last["result"], seconds)
        if "error" in last:
            return Found("killed", last["error"][:200], 0, seconds)
        return Found("timeout", str(last.get("at", "")), len(lines), seconds)


def _ended(living: dict[int, tuple[Mutant, _Child]]) -> tuple[Mutant, Found]:
    """The oldest child, once it has ended."""
    mutant, child = living.pop(next(iter(living)))
    return mutant, child.found()


def _isolate() -> None:
    """A child prints nothing, is the first of its group, and has bounded memory."""
    import resource

    os.setpgid(0, 0)
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


class _quiet:  # noqa: N801 - a context manager
    """Nothing is printed within."""

    def __enter__(self) -> None:
        sys.stdout.flush()
        self.kept = [os.dup(stream) for stream in (1, 2)]
        silence = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(silence, stream)
        os.close(silence)

    def __exit__(self, *error: object) -> None:
        for stream, kept in zip((1, 2), self.kept, strict=True):
            os.dup2(kept, stream)
            os.close(kept)
