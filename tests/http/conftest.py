"""One local run of examples/catalog for all black-box cases, with pages of four items."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import wraps
from typing import Any
from uuid import uuid4

import pytest
import urllib3
from urllib3.util import parse_url

from examples.catalog.system.running import started
from fanin import Fanin
from fanin.aws import clients
from fanin.local import LocalRun
from fanin.settings.tracking import Tables
from fanin.tracker import Tracker
from fanin.tracker.dynamodb import DynamoStore
from lab.local.jobs import Site
from lab.local.races import Api
from tests.api.published import Unpublished, checked
from tests.http import tenants
from tests.http.callbacks import CALLBACKS
from tests.http.events import Events
from tests.side_by_side import alone, beside_the_module, beside_the_session, pytest_pyfunc_call

__all__ = ["alone", "beside_the_module", "beside_the_session", "pytest_pyfunc_call"]

SETTINGS = {
    "events": ["TaskSucceeded", "BundleFailed", "JobDead"],
    "grouper_registrations": True,
    "results": True,
    "progress_tokens": True,
    "callbacks": CALLBACKS,
    "resumed_state_machines": ["arn:aws:states:us-east-1:000000000000:stateMachine:waits"],
    "resumed_durable_functions": ["arn:aws:lambda:us-east-1:000000000000:function:orders"],
    "publications": [
        {"source": "s3://lake/new/", "queue": "arn:aws:sqs:us-east-1:000000000000:lake-rows"},
        {
            "source": "s3://lake/in/",
            "queue": "arn:aws:sqs:us-east-1:000000000000:lake-rows",
            "onCreated": True,
            "chunk": 2,
        },
    ],
}


@pytest.fixture(scope="session")
def run() -> Iterator[LocalRun]:
    with started(page_bits=4, **SETTINGS) as run:
        yield run


@pytest.fixture(scope="session", autouse=True)
def as_published(run: LocalRun) -> Iterator[None]:
    """Every answer of the API to this process is held to docs/openapi.json; no test here asks for a 500."""
    send = urllib3.PoolManager.urlopen

    @wraps(send)
    def sent(pool: Any, method: str, url: str, *args: Any, **options: Any) -> Any:
        answer = send(pool, method, url, *args, **options)
        if url.startswith(f"{run.url}/"):
            checked(method, parse_url(url).path or "/", answer.status, answer.headers, answer.data)
            if answer.status == 500:
                raise Unpublished(f"{method} {url}: {answer.data!r}")
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(urllib3.PoolManager, "urlopen", sent)
        yield


@pytest.fixture(scope="session", autouse=True)
def run_of_tenants(run: LocalRun, request: pytest.FixtureRequest) -> Iterator[Future[LocalRun] | None]:
    """The run of test_tenants, which starts while other modules are tested."""
    if not any(item.path.name == "test_tenants.py" for item in request.session.items):
        yield None
        return
    with ThreadPoolExecutor(1) as threads:
        starting = threads.submit(LocalRun.start, page_bits=4, context=tenants.SETTINGS)
        yield starting
        starting.result().stop()


@pytest.fixture(scope="session")
def api(run: LocalRun) -> Api:
    return Api(run.url)


@pytest.fixture(scope="session", autouse=True)
def bus(run: LocalRun) -> Events:
    """The events from the start of the run."""
    return Events.on(run)


@pytest.fixture(scope="session")
def tracker(run: LocalRun) -> Tracker:
    """The tracker itself on the tables of the run, for what HTTP cannot do: crash, or wait for a week."""
    tables = Tables(run.outputs["BatchesTable"], run.outputs["PagesTable"])
    return Tracker(DynamoStore(run.client("dynamodb"), tables), page_bits=4, fresh_for=timedelta(0))


@pytest.fixture(scope="module")
def library(run: LocalRun) -> Iterator[Fanin]:
    """The library as a process beside the local run has it."""
    with pytest.MonkeyPatch.context() as patch:
        # Several modules have one, and each makes the table of its own.
        for name, value in Site(run, f"library-{uuid4().hex[:8]}").environment.items():
            patch.setenv(name, value)
        caches = (clients.dynamodb, clients.sqs)
        for cache in caches:
            cache.cache_clear()
        yield Fanin(run.url)
        for cache in caches:
            cache.cache_clear()
