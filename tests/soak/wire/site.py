"""A local run whose functions, and whose clients in this process, reach AWS through the fault proxy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

from fanin.aws import clients
from fanin.local import LocalRun
from fanin.local.function_processes import deployed as functions
from tests.soak.wire import redelivery
from tests.soak.wire.kinds import SHARES
from tests.soak.wire.proxy import FaultProxy

ENDPOINT = "AWS_ENDPOINT_URL"
TENANT = "000000000000"
SWEEPS = ("sweep", "sweep_groups", "sweep_jobs")
CLIENTS = (clients.dynamodb, clients.sqs, clients.long_polls)


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
def through(proxy: FaultProxy, run: LocalRun) -> Iterator[None]:
    """Let the clients of this process use the proxy, and messages come again soon."""
    again = redelivery.soon(run.client("lambda"), run.client("sqs"))
    with again, patch.dict(os.environ, {**run.environment, ENDPOINT: proxy.url}):
        _renew()
        try:
            yield
        finally:
            _renew()


def _renew() -> None:
    for each in CLIENTS:
        each.cache_clear()
