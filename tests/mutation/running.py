"""Runs tests of one warm pytest process against mutants, each in a child that is forked for it."""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, zip_longest
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, settings

from tests.mutation.mutants import Mutant
from tests.mutation.planting import Garden
from tests.mutation.rooms import ROOT, Stage
from tests.request_rules import shapes

OPTIONS = (
    "-qq",
    "-p",
    "no:cacheprovider",
    "-n",
    "0",
    "--timeout=0",
    "--tb=no",
    "--no-summary",
    "-s",
    "-m",
    "",
)
"""Tests marked ``proof`` judge, too."""
ADDRESS_SPACE = 6 << 30
Outcome = tuple[Mutant, str, str]
"""A mutant, its status (killed, timeout, survived, unplantable), and what noticed it."""


class Bench:
    """The collected tests of one process, warm: what they import and cache is there before each fork."""

    def __init__(self, session: pytest.Session, files: Sequence[str], stage: Stage) -> None:
        gc.unfreeze()
        self.stage = stage
        self.items = {item.nodeid: item for item in session.items}
        for file in files:
            importlib.import_module(file.removeprefix("shared/").removesuffix(".py").replace("/", "."))
        self.garden = Garden(ROOT, files)
        gc.collect()
        gc.freeze()
        self.seconds: dict[str, float] = {}
        self.reaching: dict[tuple[str, int], set[str]] = defaultdict(set)
        self.killers: dict[str, dict[str, None]] = defaultdict(dict)
        self._trace()

    def _trace(self) -> None:
        """Note which lines each quick test reaches that passes without a mutant."""
        for name, passed, seconds, lines in _in_child(self._traced)():
            if passed and seconds <= self.stage.longest:
                self.seconds[name] = seconds
                for file, line in lines:
                    self.reaching[file, line].add(name)

    def _traced(self) -> list[Any]:
        signal.signal(signal.SIGPROF, _too_long)
        hit, found, items = self.garden.watch(), [], list(self.items.values())
        for item, following in zip(items, [*items[1:], None], strict=True):
            hit.clear()
            began = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, 2 * self.stage.longest)
            passed = run(item, following)
            signal.setitimer(signal.ITIMER_PROF, 0)
            found.append((item.nodeid, passed, round(time.process_time() - began, 4), list(hit)))
        return found

    def judge(self, mutants: Sequence[Mutant], processes: int) -> Iterator[Outcome]:
        """Yield the outcome of each mutant."""
        living: list[tuple[Mutant, Callable[[], Any]]] = []
        for mutant in [*mutants, *[None] * processes]:
            if living and (mutant is None or len(living) == processes):
                ended, answer = living.pop(0)
                status, by = answer() or ("timeout", "")
                if status == "killed":
                    self.killers[ended.spot.owner][by] = None
                yield ended, status, by
            if mutant is not None:
                living.append((mutant, _in_child(self._judged, mutant, self._tests_of(mutant))))

    def _tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests of a mutant: those that noticed its neighbours first, then the quickest."""
        lines = {(mutant.file, line) for line in mutant.lines}
        if mutant.spot.kind in ("name", "field"):
            users = self.garden.users(mutant.spot.owner.rpartition(".")[2])
            lines = {(file, line) for file, line in self.reaching if any(file == each for each, _ in users)}
        found = set[str]().union(*(self.reaching.get(line, ()) for line in lines))
        if not found:
            found = set[str]().union(
                *(tests for line, tests in self.reaching.items() if line[0] == mutant.file)
            )
        killers = self.killers[mutant.spot.owner]
        tests = sorted(found, key=lambda test: (test not in killers, self.seconds[test], test))
        ends = accumulate(self.seconds[test] for test in tests)
        return [test for test, end in zip(tests, ends, strict=True) if end <= self.stage.seconds]

    def _judged(self, mutant: Mutant, tests: Sequence[str]) -> tuple[str, str]:
        if not self.garden.plant(mutant):
            return "unplantable", ""
        items = [self.items[test] for test in tests]
        for item, following in zip_longest(items, items[1:]):
            signal.setitimer(signal.ITIMER_PROF, 1 + 10 * self.seconds[item.nodeid])
            signal.setitimer(signal.ITIMER_REAL, 20 + 60 * self.seconds[item.nodeid])
            if not run(item, following):
                return "killed", item.nodeid
        return "survived", ""


def run(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Run one test; whether it passes."""
    return all(not report.failed for report in runtestprotocol(item, nextitem=following, log=False))


def collected(tests: Sequence[str], work: Callable[[pytest.Session], None]) -> None:
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
    pytest.main([*OPTIONS, *tests], plugins=[_Plugin(work)])


class _Plugin:
    """Examples are the same each time; a changed expression is no listed one, which shows nothing."""

    def __init__(self, work: Callable[[pytest.Session], None]) -> None:
        self.work = work

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        settings.load_profile("mutation")
        shapes.CHECKED = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("the tests cannot be collected")
        self.work(session)
        return True


def _too_long(*_: object) -> None:
    pytest.fail("a test that takes so long judges no mutants")


def _in_child(work: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    """Fork a process for *work*; return what waits for its result, None where a test took too long.

    It writes into a file: a pipe would stay open where a test leaves a process behind.
    """
    sent = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is read
    pid = os.fork()
    if pid:
        return lambda: _result(pid, sent)
    try:
        _isolate()
        try:
            answer = work(*args)
        except BaseException as error:
            answer = ("killed", f"{type(error).__name__}: {error}"[:200])
        sent.write(json.dumps(answer).encode())
        sent.flush()
    finally:
        os._exit(0)


def _result(pid: int, sent: Any) -> Any:
    os.waitpid(pid, 0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with sent as stream:
        stream.seek(0)
        text = stream.read()
    return json.loads(text) if text else None


def _isolate() -> None:
    """A child prints nothing, is the first of its group, and has bounded memory."""
    os.setpgid(0, 0)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
