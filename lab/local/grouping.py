"""Measures a burst of tasks on the local run, against a batch API that is slow, throttles and fails.

``python -m lab.local.grouping`` registers 2,000 tasks of 10 targets and prints the results. It exits with 1
if a task was in two successful calls or failed without a reason, if bundles are less than 80 % full, or if a
message is received twice or more on average. ``--tasks``, ``--targets`` and ``--seed`` change the burst.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from fanin.local import LocalRun
from fanin.local.function_processes import deployed as functions
from fanin.settings.settings_file import VARIABLE, SettingsFile
from lab.local.batch_api import BatchApi, ServiceErrors
from lab.local.races import Api

SENDERS = 8
DEADLINE_SECONDS = 600.0
LATE_LINES_SECONDS = 2.0
MAX_SIZE = 25
POLICY = {
    "pattern": "*",
    "lingerSeconds": 5,
    "maxDelaySeconds": 20,
    "maxSize": MAX_SIZE,
    "rate": 5,
    "burst": 5,
    "maxAttempts": 12,
}
ENDED = {"SUCCEEDED", "FAILED", "DEAD"}
HANDLERS = ("lead_tasks", "handle_bundle", "api.write_tasks", "api.read_tasks", "sweep_groups")


@dataclass(frozen=True, slots=True)
class Burst:
    """The result of a burst. *states*: of tasks. *odd*: tasks that broke a promise, with the reason."""

    tasks: int
    states: Counter[str]
    odd: dict[str, str]
    sizes: list[int]
    calls: int
    received: int
    seconds: float

    @property
    def fullness(self) -> float:
        """The mean size of the bundles of the targets' own lanes, as a share of the largest size."""
        return sum(self.sizes) / len(self.sizes) / MAX_SIZE if self.sizes else 0.0

    @property
    def receives(self) -> float:
        """Receives of messages for each task."""
        return self.received / self.tasks

    @property
    def is_good(self) -> bool:
        """Whether every promise and both bounds were kept."""
        return not self.odd and self.fullness >= 0.8 and self.receives < 2

    def __str__(self) -> str:
        return (
            f"{self.tasks} tasks in {self.seconds:.0f} s: {dict(self.states)}, {len(self.odd)} odd\n"
            f"bundles: {len(self.sizes)}, mean size {self.fullness:.0%} of {MAX_SIZE}; {self.calls} calls\n"
            f"receives a task: {self.receives:.2f}"
        )


Report = Callable[[str], None]


def _no_report(_: str) -> None:
    """Ignore the progress."""


def progress(step: str) -> None:
    """Print *step* to standard error."""
    print(step, file=sys.stderr, flush=True)


def configure(run: LocalRun, policies: Sequence[dict[str, Any]], api: BatchApi) -> None:
    """Set the policies and the batch API of the deployed functions, as the stack's settings do."""
    downstream = {"pattern": "*", "url": api.url, "timeoutSeconds": 5}
    file = SettingsFile(grouper_policies=policies, grouper_downstream=[downstream])
    functions.configure(run.client("lambda"), HANDLERS, {VARIABLE: file.to_json()})


def register(api: Api, ids: Sequence[str], target_of: dict[str, str]) -> None:
    """Register the tasks with several senders at once."""

    def one(name: str) -> None:
        api.post("/v1/tasks", {"taskId": name, "target": target_of[name], "payload": {"name": name}})

    with ThreadPoolExecutor(SENDERS) as senders:
        list(senders.map(one, ids))


def endings(api: Api, ids: Sequence[str], report: Report = _no_report) -> dict[str, dict[str, Any]]:
    """Wait for the tasks to end and return them by id as last read. *report* receives the progress."""
    found: dict[str, dict[str, Any]] = {}
    give_up = time.monotonic() + DEADLINE_SECONDS
    live = list(ids)
    while live and time.monotonic() < give_up:
        for name in live:
            found[name] = json.loads(api.pool.request("GET", f"{api.url}/v1/tasks/{name}").data)
            if found[name]["state"] not in ENDED:
                report(f"at least {len(ids) - len(live)} of {len(ids)} tasks have ended")
                time.sleep(1)
                break
        live = [name for name in live if found.get(name, {}).get("state") not in ENDED]
    return found


def judged(found: dict[str, dict[str, Any]], api: BatchApi) -> dict[str, str]:
    """Return the tasks that broke a promise: done exactly once, or failed with a reason and never done."""
    successes = api.successes()
    odd = {}
    for name, task in found.items():
        wanted = 1 if task["state"] == "SUCCEEDED" else 0
        if task["state"] not in ENDED or successes[name] != wanted:
            odd[name] = f"{task['state']}, done {successes[name]} times"
        elif wanted == 0 and not task.get("reason"):
            odd[name] = "failed without a reason"
    return odd


def sizes(api: Api, target: str) -> list[int]:
    """Return the size of each bundle of a target; the API does not list parts of refused bundles."""
    fields, found = {"target": target, "limit": "100"}, []
    while True:
        page = json.loads(api.pool.request("GET", f"{api.url}/v1/bundles", fields=fields).data)
        found += [bundle["size"] for bundle in page["bundles"]]
        if "cursor" not in page:
            return found
        fields["cursor"] = page["cursor"]


def counted(run: LocalRun, handler: str, metric: str) -> int:
    """Return the sum of a metric over the lines that a handler has logged."""
    time.sleep(LATE_LINES_SECONDS)
    group = functions.by_handler(run.client("lambda"))[handler]["LoggingConfig"]["LogGroup"]
    pages = run.client("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
    lines = (event["message"] for page in pages for event in page["events"])
    metrics = (json.loads(line) for line in lines if line.startswith('{"_aws"'))
    return int(sum(sum(line.get(metric, [])) for line in metrics))


def burst(run: LocalRun, tasks: int, targets: int, errors: ServiceErrors) -> Burst:
    """Register *tasks*, wait for their ends and return the counts."""
    with BatchApi(errors) as batch_api:
        configure(run, [POLICY], batch_api)
        api, began = Api(run.url), time.monotonic()
        target_of = {f"t{errors.seed}-{number}": f"target-{number % targets}" for number in range(tasks)}
        register(api, list(target_of), target_of)
        progress(f"{tasks} tasks are registered")
        found = endings(api, list(target_of), progress)
        seconds = time.monotonic() - began
        return Burst(
            tasks=tasks,
            states=Counter(task["state"] for task in found.values()),
            odd=judged(found, batch_api),
            sizes=[size for target in sorted(set(target_of.values())) for size in sizes(api, target)],
            calls=len(batch_api.calls),
            received=counted(run, "lead_tasks", "TaskMessages"),
            seconds=seconds,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--targets", type=int, default=10)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    errors = ServiceErrors(options.seed, throttled=10, failing=10, rejected=2, poison=0.1, slow_seconds=0.5)
    with LocalRun.start(progress=progress) as run:
        found = burst(run, options.tasks, options.targets, errors)
        print(found, flush=True)
    return 0 if found.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
