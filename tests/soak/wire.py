"""The fault proxy of tests/faults between the deployed functions, the queue's workers, and the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fanin.local import LocalRun
from fanin.local.functions import deployed as functions
from lab.local.jobs import Site
from tests.faults.proxy import FaultProxy

ENDPOINT = "AWS_ENDPOINT_URL"


@contextmanager
def proxied(run: LocalRun, seed: int, rate: float) -> Iterator[FaultProxy]:
    """Yield the proxy that the functions use, which does something to a share *rate* of the requests.

    Calm and rough times follow each other: no fault, *rate*, and twice as many.
    """
    lambda_ = run.client("lambda")
    with FaultProxy(run.endpoint, seed, shares=(0.0, rate, 2 * rate)) as proxy:
        if rate:
            functions.configure(lambda_, functions.by_handler(lambda_), {ENDPOINT: proxy.url})
        else:
            proxy.calm.set()
        yield proxy


class ProxiedSite(Site):
    """A queue whose worker processes use the *endpoint*."""

    endpoint: str

    def __init__(self, run: LocalRun, queue: str, endpoint: str) -> None:
        super().__init__(run, queue)
        self.endpoint = endpoint

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, ENDPOINT: self.endpoint}
