"""What every test starts with: no AWS in the environment, a worker by what it shares, bounded examples."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from fanin.local.endpoint.checking import checked
from fanin.local.endpoint.given import SETTING
from tests import parsing
from tests.request_rules import hook, shapes

OURS = ("AWS_", "FANIN_", "_X_AMZN_", "POWERTOOLS_")

LANES = {
    "tests/pipeline/fan_out/test_faults.py": "JVMs that are killed",
    "tests/pipeline/": "one Spark session",
    "tests/http/": "one local run",
    "tests/infra/test_construct": "one CDK of constructs",
    "tests/infra/": "one CDK",
    "tests/simulating/test_smoke.py": "broken rules",
    "tests/agreement/": "four clients",
    "tests/local/": "local runs",
    "tests/catalog/": "the demo",
    "tests/dashboard/": "one browser",
    "tests/website/": "one site",
    "tests/fuzz/": "one deployment",
}
"""Tests that share what is expensive to start, the longest first; all others are spread by file."""

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


def lane_of(nodeid: str) -> str:
    """Return the name of what the test shares with others: a lane, or its file."""
    return next((lane for room, lane in LANES.items() if nodeid.startswith(room)), nodeid.partition("::")[0])


def rank_of(nodeid: str) -> int:
    """Return the place of the test's room in LANES; rooms without a lane come after all of them."""
    return next((at for at, room in enumerate(LANES) if nodeid.startswith(room)), len(LANES))


class Lanes(LoadScopeScheduling):
    """Hands out whole lanes, in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        return lane_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Lanes:
    """Spread the tests over the workers by lane."""
    config.option.loadscopereorder = False
    return Lanes(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the long lanes first: the many short files then fill both workers to the end."""
    others = [item.nodeid for item in items if not item.nodeid.startswith("tests/contract/")]
    if others and config.getoption("endpoint"):
        raise pytest.UsageError(f"--endpoint is for tests/contract alone, and not for {others[0]}")
    items.sort(key=lambda item: rank_of(item.nodeid))
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

    A test that needs such a name sets it; ``--dynamodb`` is for all.
    """
    if config.getoption("endpoint") != "aws":
        for name in list(os.environ):
            if name.startswith(OURS):
                del os.environ[name]
    if engine := config.getoption("dynamodb"):
        os.environ[SETTING] = checked(engine)
