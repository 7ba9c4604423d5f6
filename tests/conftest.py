"""What every test starts with: no AWS in the environment, a worker by what it shares, bounded examples."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from botocore.useragent import UserAgentString
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from fanin.local.dynamodb_engine.checking import checked
from fanin.local.dynamodb_engine.dynamodb_option import SETTING
from tests import parsing
from tests.request_rules import hook, shapes

OURS = ("AWS_", "FANIN_", "_X_AMZN_", "POWERTOOLS_")

LANES = [
    [f"tests/{room}/" for room in rooms.split()]
    for rooms in (
        "pipeline history_report tracker publishing s3_publications item_results histories change_archive",
        "infra fuzz functions contract cost queue grouper api crashes quotas sqs_worker aws",
        "http agreement client conformance simulating simulation simulation_grouper simulation_seams",
        "local catalog dashboard website cli mutation",
    )
]
"""Rooms, those first that share what is dear to start: one worker reads, imports and runs those of a lane.

All other tests are spread by file, over the workers that are done with their lanes.
"""

# A JVM of the tests runs for minutes, too short for its best compiler and the verifier of classes to pay.
COMPILED_ONCE = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
UNVERIFIED = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"{COMPILED_ONCE} {UNVERIFIED}")
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", os.environ["SPARK_SUBMIT_OPTS"])

# The CDK's own check of a template takes seconds to start: tests/infra/test_options.py asks for it.
os.environ.setdefault("CDK_VALIDATION", "false")

# A slow machine is no defect: no deadline, and no complaint that examples are made slowly.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("test", max_examples=50, **PATIENT)
settings.register_profile("proof", max_examples=2000, **PATIENT)
settings.load_profile("test")


# A thread that prints a traceback spoils no other thread's parse.
parsing.install()

# botocore composes its name anew for each request: a fifth of the time of one that this process answers.
UserAgentString.to_string = lambda _: "Botocore"

# Every request of every client is checked by what AWS documents: fanin/local/request_rules.
hook.install()


@pytest.fixture(autouse=True)
def nothing_that_aws_refuses(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test that sent a request that AWS refuses, whatever became of it, or one of no listed shape.

    After a new shape of production code: a case in tests/contract that sends it, and
    ``make witness ARGS=--write``. `make witness` itself, which gives an endpoint, reports what is not listed.
    """
    hook.REFUSALS.clear()
    shapes.UNLISTED.clear()
    yield
    refused, hook.REFUSALS[:] = list(hook.REFUSALS), []
    assert not refused
    assert not shapes.UNLISTED or request.config.getoption("endpoint")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep the shapes of the requests that an endpoint was sent: `make witness` compares them."""
    if endpoint := session.config.getoption("endpoint"):
        shapes.keep(str(endpoint).partition(":")[0])


def room_of(name: str) -> str | None:
    """Return the room of a lane that the file or test belongs to."""
    return next((room for lane in LANES for room in lane if name.startswith(room)), None)


def worker_of(room: str, workers: int) -> int:
    """Return the number of the worker that runs the room's lane."""
    return next(at for at, lane in enumerate(LANES) if room in lane) % workers


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the rooms of other lanes to their workers: no other worker reads and imports them."""
    worker = getattr(config, "workerinput", None)
    room = room_of(os.path.relpath(collection_path, config.rootpath) + "/")
    if not worker or not room:
        return None
    return worker_of(room, worker["workercount"]) != int(worker["workerid"].removeprefix("gw")) or None


def pytest_collection_finish() -> None:
    """Collect garbage from here on: what was imported and collected stays, and is long to look through."""
    gc.freeze()
    gc.enable()


SESSION = pytest.StashKey[pytest.Session]()
"""Where the session counts the tests of all workers together."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Keep the session for the scheduler."""
    session.config.stash[SESSION] = session


class Lanes(LoadScopeScheduling):
    """Hands out whole rooms and files, in their order, to workers that have collected them."""

    def _split_scope(self, nodeid: str) -> str:
        return room_of(nodeid) or nodeid.partition("::")[0]

    def schedule(self) -> None:
        """Queue what any worker has collected, and give each its first two units."""
        if self.collection is None:
            self.collection = list(
                {name: None for names in self.registered_collections.values() for name in names}
            )
            self.config.stash[SESSION].testscollected = len(self.collection)
            for nodeid in sorted(self.collection, key=lambda name: room_of(name) is None):
                self.workqueue.setdefault(self._split_scope(nodeid), {})[nodeid] = False
        for node in self.nodes * 2:
            self._reschedule(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        collected = set(self.registered_collections[node])
        found = next((scope for scope, unit in self.workqueue.items() if unit.keys() <= collected), None)
        if found is None:
            node.shutdown()
            return
        self.workqueue.move_to_end(found, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Lanes:
    """Spread the tests over the workers by lane."""
    return Lanes(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Let a worker report how a test ended, and no steps that passed: they take longer than most tests.

    With ``--durations`` and ``--junitxml`` they are reported, for they have times.
    """
    option = item.config.option
    if not hasattr(item.config, "workerinput") or option.durations or option.xmlpath:
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse the option of the contract suites elsewhere; give each test an id of its own."""
    others = [item.nodeid for item in items if not item.nodeid.startswith("tests/contract/")]
    if others and config.getoption("endpoint"):
        raise pytest.UsageError(f"--endpoint is for tests/contract alone, and not for {others[0]}")
    number_namesakes(items)


def number_namesakes(items: list[pytest.Item]) -> None:
    """Give each test an id of its own: xdist runs one of each id, and a fuzzer's tests all have the same."""
    seen: Counter[str] = Counter()
    for item in items:
        seen[item.nodeid] += 1
        if seen[item.nodeid] > 1:
            item._id = item.parent.id.child(f"{item.name}[{seen[item.nodeid]}]")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the engine of the contract suites: see tests/contract/engines.py."""
    parser.addoption(
        "--endpoint",
        default=os.environ.get("FANIN_CONTRACT_ENDPOINT"),
        help="run tests/contract on: moto, emulator, dynalite, DIR or URL of an engine, or aws",
    )
    parser.addoption(
        "--dynamodb",
        metavar="DIR|URL",
        help="tables of local runs and of tests/contract are in this engine: `fanin local up --dynamodb`",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Forget what the shell says of AWS and of a run, before any module of the tests is imported.

    A test that needs such a name sets it; ``--dynamodb`` is for all. A worker that dies is not
    replaced: no other worker has its lane's tests. Nothing that is collected is garbage.
    """
    config.option.maxworkerrestart = "0"
    gc.disable()
    if config.getoption("endpoint") != "aws":
        for name in list(os.environ):
            if name.startswith(OURS):
                del os.environ[name]
    if engine := config.getoption("dynamodb"):
        os.environ[SETTING] = checked(engine)
