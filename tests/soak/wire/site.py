"""A local run whose functions, and whose clients in this process, reach AWS through the fault proxy."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from examples.catalog.system.batch_api import DONE, BatchApi, Request, Ruling
from fanin import Fanin
from fanin.aws import clients
from fanin.aws.settings.tracking import Tables
from fanin.local import LocalRun
from fanin.local.functions import deployed as functions
from lab.local.grouping import configure
from tests.http.events import Events
from tests.soak.wire import redelivery
from tests.soak.wire.client import Client
from tests.soak.wire.kinds import SHARES
from tests.soak.wire.proxy import FaultProxy

ENDPOINT = "AWS_ENDPOINT_URL"
TENANT = "000000000000"
PAGE_BITS = 4
POLICIES = [{"pattern": "*", "lingerSeconds": 1, "maxDelaySeconds": 1, "maxSize": 10}]
SWEEPS = ("sweep", "sweep_groups", "sweep_jobs")
SETTINGS = {"events": ["TaskSucceeded", "BundleFailed", "JobDead"]}
CLIENTS = (clients.dynamodb, clients.sqs, clients.long_polls)


@dataclass
class DoneOnce:
    """The judge of a batch API that knows a bundle by its idempotency key, as the docs ask of one."""

    seen: set[str] = field(default_factory=set)

    def judge(self, request: Request) -> Ruling:
        again = request.bundle in self.seen
        self.seen.add(request.bundle)
        return Ruling(DONE, again=again)


@dataclass
class Site:
    """What the schedules share."""

    run: LocalRun
    proxy: FaultProxy
    api: Client
    batch_api: BatchApi
    bus: Events
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.sqs = self.run.client("sqs")
        self.dynamodb = self.run.client("dynamodb")

    def direct(self) -> Fanin:
        """Return the library on the tables, in this process."""
        outputs = self.run.outputs
        return Fanin.direct(
            Tables(outputs["BatchesTable"], outputs["PagesTable"]), TENANT, page_bits=PAGE_BITS
        )

    def ending_events(self, batch: str) -> list[dict[str, Any]]:
        """Return the ending events of *batch*, waited for."""
        with self.lock:
            return list(self.bus.of(batch))

    def outcome(self, job: str) -> dict[str, Any]:
        """Return the write of a job's outcome, which fails where there is one."""
        table = self.run.outputs["DemoOutcomesTable"]
        condition = "attribute_not_exists(pk)"
        return {"Put": {"TableName": table, "Item": {"pk": {"S": job}}, "ConditionExpression": condition}}

    def with_outcome(self, jobs: Iterable[str]) -> set[str]:
        """Return those of *jobs* that have an outcome."""
        table = self.run.outputs["DemoOutcomesTable"]
        keys = {job: {"pk": {"S": job}} for job in jobs}
        found = (
            (job, self.dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True))
            for job, key in keys.items()
        )
        return {job for job, answer in found if "Item" in answer}

    def sweep(self) -> None:
        """Start the scheduled sweeps now; in the run they come each minute."""
        sweep(self.run, "Event")


def sweep(run: LocalRun, invocation: str = "RequestResponse") -> None:
    """Run the sweeps, as their schedules do."""
    lambda_ = run.client("lambda")
    deployed = functions.by_handler(lambda_)
    for name in SWEEPS:
        lambda_.invoke(FunctionName=deployed[name]["FunctionName"], InvocationType=invocation, Payload=b"{}")


@contextmanager
def proxied(run: LocalRun, seed: int, shares: Sequence[float] = SHARES) -> Iterator[FaultProxy]:
    """Yield the proxy that the functions use in place of the emulator; afterwards they use it no more."""
    lambda_ = run.client("lambda")
    names = list(functions.by_handler(lambda_))
    with FaultProxy(run.endpoint, seed, shares) as proxy:
        functions.configure(lambda_, names, {ENDPOINT: proxy.url})
        try:
            yield proxy
        finally:
            proxy.calm.set()
            functions.configure(lambda_, names, {ENDPOINT: run.endpoint})


@contextmanager
def faulty(run: LocalRun, bus: Events, seed: int) -> Iterator[Site]:
    """Yield *run* with the proxy between its functions and the emulator; afterwards they are as before."""
    again = redelivery.soon(run.client("lambda"), run.client("sqs"))
    with BatchApi(DoneOnce()) as batch_api, again, proxied(run, seed) as proxy:
        configure(run, POLICIES, batch_api)
        environment = {**run.environment, ENDPOINT: proxy.url}
        try:
            with patch.dict(os.environ, environment):
                _renew()
                yield Site(run, proxy, Client(run.url), batch_api, bus)
        finally:
            _renew()


def _renew() -> None:
    for each in CLIENTS:
        each.cache_clear()
