"""CPU and memory of the cold start of each function, from layer and code as they are deployed, with bytecode.

``make start`` prints a table: medians of the CPU time (user and system) of a new process that imports the
function and makes its clients, beside a process that imports boto3 and makes a DynamoDB client; and those of
``import fanin`` and ``fanin --version``. A second table has the time of a request by the memory of its
function: a vCPU is 1,769 MB. The ratios of all functions are kept for docs/performance/start.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from fanin_cdk.grants.group_handlers import GROUP_API, GROUP_ROUTES
from fanin_cdk.grants.handlers import API, ROUTES
from fanin_cdk.grants.job_handlers import JOB_API, JOB_ROUTES
from fanin_cdk.packaging.code import assemble
from fanin_cdk.packaging.layer import Build, compile_own, install
from fanin_cdk.packaging.paths import FUNCTIONS
from fanin_cdk.settings.config import Config
from lab.pages.revision import ROOT
from lab.start.ratios import PYTHON, ROUNDS, Ratio, keep_ratios
from lab.start.stub import stub

OF_API = {f"api.{name}" for functions in (API, GROUP_API, JOB_API) for name in functions}
SERVED = {each.name for each in ROUTES}
SERVED |= {each.lambda_.name for each in GROUP_ROUTES} | {each.lambda_.name for each in JOB_ROUTES}
"""The handlers that functions of the API call."""
BASELINE = "import boto3; boto3.client('dynamodb')"
BOTO = "boto3 and its DynamoDB client"
FIXED = {PYTHON: "pass", BOTO: BASELINE}
VERSION = "import sys; sys.argv = ['fanin', '--version']; from fanin.cli.main import main; main()"
CLIENT = {"import fanin": "import fanin", "fanin --version": VERSION}
"""What users start; with the packages of this environment, and not those of the layer."""
LIMITS = {"route": 2.0, "consumer": 1.0, "import fanin": 0.15, "fanin --version": 0.5}
"""The most CPU of a function of the API, of any other, and of what users start, in that of the baseline."""
VCPU_MB = 1769
DOLLARS_A_GB_SECOND = 0.0000133334
STORE_SECONDS = 0.005
"""DynamoDB's answer to a read of one row."""
MEMORIES_MB = (128, 256, 512, 1024, 1769)
QUEUES = "https://sqs.eu-west-1.amazonaws.com/111122223333/"
ENVIRONMENT = {
    "PYTHONSAFEPATH": "1",  # the code as it is deployed, and not that of the working directory
    "FANIN_SETTINGS": "{}",
    "AWS_LAMBDA_FUNCTION_NAME": "start",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "FANIN_BATCHES_TABLE": "batches",
    "FANIN_PAGES_TABLE": "pages",
    "FANIN_TENANT": "111122223333",
    "FANIN_ALLOW_ANONYMOUS": "true",
    "FANIN_GROUP_TASKS_TABLE": "tasks",
    "FANIN_GROUP_LEASES_TABLE": "leases",
    "FANIN_GROUP_BUNDLES_TABLE": "bundles",
    "FANIN_GROUPER_QUEUE_URL": QUEUES + "tasks",
    "FANIN_BUNDLES_QUEUE_URL": QUEUES + "bundles",
}
# A GET of a batch that does not exist: one read of DynamoDB, which the stub answers.
REQUESTS = """
import sys, time
from functions.api.read_batches import handler
batch = "906d42f0-ef2f-802e-aaee-3ecf7139c8b7"
path = f"/v1/batches/{batch}"
def event():
    http = {"method": "GET", "path": path}
    return {"version": "2.0", "routeKey": "GET /v1/batches/{batchId}", "rawPath": path,
            "rawQueryString": "", "headers": {}, "pathParameters": {"batchId": batch},
            "requestContext": {"requestId": "r", "stage": "$default", "http": http}}
def timed(times):
    begun = time.process_time()
    for _ in range(times):
        assert handler(event(), None)["statusCode"] == 404
    return (time.process_time() - begun) / times
sys.stderr.write(f"{timed(1)} {timed(200)}")
"""


@dataclass(frozen=True, slots=True)
class Start:
    """A process's CPU seconds, and the most memory that it had, in MB."""

    seconds: float
    megabytes: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables; return 1 if a function takes more than its limit. Those of all are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"processes of each (default {ROUNDS})")
    parser.add_argument("--only", nargs="*", help="modules of functions (default: all)")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        env = assembled(Path(folder))
        starts = measured(options.only or functions(), options.rounds, env)
        ratios = list(ratios_of(starts))
        show_starts(ratios)
        show_requests(*requests(env), starts)
    if not options.only:
        keep_ratios(ratios, options.rounds)
    return int(any(each.is_over for each in ratios))


def functions() -> list[str]:
    """Return the modules of all functions."""
    handlers = {path.stem for path in FUNCTIONS.glob("*.py") if path.stem != "__init__"}
    return sorted(handlers - SERVED | OF_API)


def assembled(folder: Path) -> dict[str, str]:
    """Build layer and code for this machine, and return the environment of a function of them."""
    build = Build.for_config(Config(target="local"))
    install(build, folder / "layer" / "python")
    assemble(folder / "code")
    compile_own(build, folder / "code")
    search = os.pathsep.join(str(folder / each) for each in ("code", "layer/python"))
    return ENVIRONMENT | {"PATH": os.environ["PATH"], "PYTHONPATH": search}


def measured(names: Sequence[str], rounds: int, env: Mapping[str, str]) -> dict[str, list[Start]]:
    """Start each program once a round, so that all share what else the machine does."""
    programs = FIXED | CLIENT | {name: f"import functions.{name}" for name in names}
    own = {**env, "PYTHONPATH": str(ROOT / "shared")}
    starts: dict[str, list[Start]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            starts[name].append(start(program, own if name in CLIENT else env))
    return starts


def start(program: str, env: Mapping[str, str]) -> Start:
    child = subprocess.Popen([sys.executable, "-c", program], env=env, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, program
    return Start(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def ratios_of(starts: Mapping[str, Sequence[Start]]) -> Iterator[Ratio]:
    """Yield the medians of each program, in those of the baseline."""
    base = median(each.seconds for each in starts[BOTO])
    for name, found in sorted(starts.items(), key=_place):
        seconds = median(each.seconds for each in found)
        memory = max(each.megabytes for each in found)
        kind = name if name in FIXED | CLIENT else "route" if name in OF_API else "consumer"
        yield Ratio(name, kind, seconds, seconds / base, LIMITS.get(kind), memory)


def show_starts(ratios: Sequence[Ratio]) -> None:
    print(f"{'start of':32} {'CPU ms':>7} {'times boto3':>12} {'at most':>8} {'MB':>5}")
    for each in ratios:
        shown = "" if each.limit is None else f"{each.limit:.2f}"
        print(
            f"{each.name:32} {each.seconds * 1000:7.0f} {each.ratio:12.2f} {shown:>8} {each.megabytes:5.0f}"
        )


def _place(item: tuple[str, Sequence[Start]]) -> tuple[bool, bool, bool, str]:
    name = item[0]
    own = name not in FIXED
    return own, own and name not in CLIENT, name in OF_API, name if own else ""


def requests(env: Mapping[str, str]) -> tuple[float, float]:
    """Return the CPU seconds of the first read of a batch, and of each of the next 200."""
    with stub() as url:
        completed = subprocess.run(  # noqa: S603 - our own
            [sys.executable, "-c", REQUESTS],
            env={**env, "AWS_ENDPOINT_URL": url},
            capture_output=True,
            text=True,
            check=True,
        )
    first, next_ = completed.stderr.split()[-2:]
    return float(first), float(next_)


def show_requests(first: float, later: float, starts: Mapping[str, Sequence[Start]]) -> None:
    """Print what a start and requests take at each size of a function."""
    init = median(each.seconds for each in starts.get("api.read_batches", starts[PYTHON]))
    print(f"\na read of a batch: CPU of the start {init * 1000:.0f} ms,")
    print(f"of the first request {first * 1000:.1f} ms,")
    print(f"of each later one {later * 1000:.2f} ms, and {STORE_SECONDS * 1000:.0f} ms in DynamoDB")
    print(f"{'MB':>5} {'vCPU':>5} {'start ms':>9} {'first ms':>9} {'later ms':>9} {'$ a million':>12}")
    for row in by_memory(init, first, later):
        print("{:5} {:5.2f} {:9.0f} {:9.0f} {:9.1f} {:12.2f}".format(*row))


def by_memory(init: float, first: float, later: float) -> Iterator[tuple[float, ...]]:
    """Yield memory, share of a vCPU, milliseconds of a start and of requests, dollars a million requests."""
    for memory in MEMORIES_MB:
        share = memory / VCPU_MB
        seconds = later / share + STORE_SECONDS
        dollars = seconds * memory / 1024 * DOLLARS_A_GB_SECOND * 1e6
        begun = first / share + STORE_SECONDS
        yield memory, share, init / share * 1000, begun * 1000, seconds * 1000, dollars


if __name__ == "__main__":
    sys.exit(main())
