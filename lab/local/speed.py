"""How fast the local run is: first answers of functions, acks of 40 callers, messages, the demo.

``make local-run`` measures each, workers being forked and workers being new interpreters, alternately in one
program: ten minutes on two calm cores. ``ARGS="--acks 100 --messages 1000 --rounds 1 --no-demo"`` measures
less, and keeps nothing.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from fanin.local import LocalRun
from fanin.local.function_processes import deployed as functions
from fanin.local.function_processes.forking import SWITCH
from lab.local.races import Api
from lab.pages.results import Table, Target, keep
from lab.pages.revision import ROOT

KINDS = {"on": "forked", "off": "new interpreters"}
CALLERS = 40
ATTEMPTS = 20
TRIVIAL = b"def handler(event, context):\n    return {'batchItemFailures': []}\n"
SENDERS = 4
ENTRIES = 10
POLL_SECONDS = 0.02
PATIENCE_SECONDS = 300.0
TICKS = os.sysconf("SC_CLK_TCK")
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Aim:
    """A target: a figure of forked workers, at least or at most *bound*."""

    figure: str
    bound: float
    is_least: bool

    def target(self, measured: float) -> Target:
        is_met = measured >= self.bound if self.is_least else measured <= self.bound
        side = "at least" if self.is_least else "at most"
        reason = "" if is_met else f"load {os.getloadavg()[1]:.0f} on {os.cpu_count()} cores"
        return Target(self.figure, f"{side} {self.bound:g}", f"{measured:.4g}", is_met, reason)


AIMS = (
    Aim("acks a second, 40 callers", 100, is_least=True),
    Aim("first answer of a function, median, s", 0.3, is_least=False),
    Aim("demo, items acked a second", 400, is_least=True),
)


def main(arguments: Sequence[str] | None = None) -> None:
    options = _arguments(arguments)
    runs: dict[str, list[Figures]] = {kind: [] for kind in KINDS}
    for _ in range(options.rounds):
        for kind, found in runs.items():
            found.append(measured(kind, options.acks, options.messages))
            print(f"{KINDS[kind]}: {json.dumps(found[-1])}", flush=True)
    medians = {kind: _medians(found) for kind, found in runs.items()}
    if options.demo:
        medians = {kind: figures | demo(kind) for kind, figures in medians.items()}
        save(medians)
    show(medians)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--acks", type=int, default=400, help="acks over HTTP (default 400)")
    parser.add_argument("--messages", type=int, default=5000, help="messages to a function (default 5000)")
    parser.add_argument("--rounds", type=int, default=3, help="local runs of each kind (default 3)")
    parser.add_argument("--no-demo", dest="demo", action="store_false", help="without the demo; keep nothing")
    return parser.parse_args(given)


def _medians(runs: Sequence[Figures]) -> Figures:
    return {name: median(each[name] for each in runs) for name in runs[0]}


def measured(kind: str, acks: int, messages: int) -> Figures:
    """Return the figures of one local run."""
    os.environ[SWITCH] = kind
    begun = time.monotonic()
    with LocalRun.start() as run:
        figures = {"start of the run, s": time.monotonic() - begun}
        figures |= first_answers(run)
        figures |= acks_over_http(run, acks)
        figures |= trivial_messages(run, messages)
        figures |= memory(run)
    return {name: round(value, 3) for name, value in figures.items()}


def demo(kind: str) -> Figures:
    """Return the figures of one run of the demo, from its own report."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "examples.catalog", "--out", folder]
        subprocess.run(command, cwd=ROOT, env={**os.environ, SWITCH: kind}, check=True)  # noqa: S603 - our own
        report = json.loads((Path(folder) / "report.json").read_text())
    return {
        "demo, items acked a second": report["itemsASecond"],
        "demo, seconds from the first message": report["seconds"],
    }


def first_answers(run: LocalRun) -> Figures:
    """Return how long each function takes to answer an empty event first, and what that takes of a core."""
    lambda_, host = run.client("lambda"), run._emulator.process.pid
    spent = cpu(host)
    times = sorted(
        timed(partial(lambda_.invoke, FunctionName=each["FunctionName"], Payload=b"{}"))
        for name, each in sorted(functions.by_handler(lambda_).items())
        if name != "api.read_batches"  # it answered before the run was ready
    )
    return {
        "first answer of a function, median, s": median(times),
        "first answer of a function, slowest, s": times[-1],
        "CPU of the emulator for each, ms": (cpu(host) - spent) / len(times) * 1000,
    }


def acks_over_http(run: LocalRun, acks: int) -> Figures:
    """Return the acks a second of 40 callers, an item in each request, and the time of an ack."""
    api, host, times = Api(run.url), run._emulator.process.pid, list[float]()
    api.pool.connection_pool_kw["maxsize"] = CALLERS
    _, items = api.opened(acks)
    spent, begun = cpu(host), time.monotonic()
    with ThreadPoolExecutor(CALLERS) as callers:
        times.extend(callers.map(lambda item: timed(partial(acked, api, item)), items))
    seconds, spent = time.monotonic() - begun, cpu(host) - spent
    _, few = api.opened(50)
    return {
        "acks a second, 40 callers": acks / seconds,
        "one of their acks, p50, s": median(times),
        "one of their acks, slowest, s": max(times),
        "CPU of the emulator for each, ms ": spent / acks * 1000,
        "an ack alone, p50, s": median(timed(partial(acked, api, item)) for item in few),
    }


def acked(api: Api, item: str) -> None:
    """Ack *item*; again if the answer is an error, as clients do."""
    for _ in range(ATTEMPTS):
        with suppress(AssertionError):
            api.ack(item)
            return
    raise TimeoutError(item)


def trivial_messages(run: LocalRun, messages: int) -> Figures:
    """Return the messages a second that pass through SQS to a function that does nothing."""
    sqs, lambda_, name = run.client("sqs"), run.client("lambda"), f"trivial-{uuid4().hex[:8]}"
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    send(sqs, url, messages)
    create(lambda_, name)
    begun = time.monotonic()
    lambda_.create_event_source_mapping(
        EventSourceArn=arn,
        FunctionName=name,
        BatchSize=ENTRIES,
        FunctionResponseTypes=["ReportBatchItemFailures"],
        ScalingConfig={"MaximumConcurrency": 4},
    )
    while remaining(sqs, url) and time.monotonic() - begun < PATIENCE_SECONDS:
        time.sleep(POLL_SECONDS)
    return {"messages a second to a function that does nothing": messages / (time.monotonic() - begun)}


def create(lambda_: Any, name: str) -> None:
    """Create the function that does nothing."""
    lambda_.create_function(
        FunctionName=name,
        Runtime="python3.12",
        Role="arn:aws:iam::000000000000:role/none",
        Handler="app.handler",
        Code={"ZipFile": zipped(TRIVIAL)},
    )


def send(sqs: Any, url: str, messages: int) -> None:
    """Send *messages*, ten in each request."""

    def part(first: int) -> None:
        entries = [{"Id": str(n), "MessageBody": "{}"} for n in range(min(ENTRIES, messages - first))]
        sqs.send_message_batch(QueueUrl=url, Entries=entries)

    with ThreadPoolExecutor(SENDERS) as senders:
        list(senders.map(part, range(0, messages, ENTRIES)))


def remaining(sqs: Any, url: str) -> int:
    """Return how many messages wait or are being processed."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    facts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(facts[name]) for name in names)


def zipped(source: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("app.py", source)
    return buffer.getvalue()


def memory(run: LocalRun) -> Figures:
    """Return the processes of the run and the memory that they use in MB, shared pages counted once."""
    host = run._emulator.process.pid
    members = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _group(pid) == host]
    return {"processes": len(members), "their memory, MB": sum(map(_proportional_kb, members)) / 1024}


def cpu(pid: int) -> float:
    """Return the seconds of a core that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _proportional_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def timed(call: Any) -> float:
    """Return the seconds that *call* takes."""
    begun = time.monotonic()
    call()
    return time.monotonic() - begun


def save(found: Mapping[str, Figures]) -> None:
    """Keep the result."""
    forked = found["on"]
    rows = [(name.strip(), *(f"{each[name]:,.4g}" for each in found.values())) for name in forked]
    targets = [aim.target(forked[aim.figure]) for aim in AIMS]
    table = Table(("figure", *KINDS.values()), rows)
    keep("local_run", "make local-run", {"figures": table}, targets=targets, packages=["ministack", "boto3"])


def show(found: Mapping[str, Figures]) -> None:
    print(f"{'':52}" + "".join(f"{name:>18}" for name in KINDS.values()))
    for name in next(iter(found.values())):
        print(f"{name:52}" + "".join(f"{figures[name]:18.4g}" for figures in found.values()))


if __name__ == "__main__":
    main()
