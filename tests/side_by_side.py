"""Tests that mostly wait run together: those with the mark ``side_by_side`` in threads, beside all others.

A conftest imports the two fixtures and the hook. A marked test starts with the first test of the session, or
of its module if it takes a fixture of that; its outcome comes where pytest calls it. Of the fixtures of
a function it may take ``tmp_path`` alone. It shares the local run with what else runs, so it has batches,
queues and tasks of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

THREADS_MAX = 6
RUNNING = pytest.StashKey[Future[Any]]()


@pytest.fixture(scope="session", autouse=True)
def beside_the_session(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start the marked tests that take fixtures of the session alone."""
    found = [item for item in marked(request) if not takes_fixtures_of_its_module(item)]
    with started(found, request):
        yield


@pytest.fixture(scope="module", autouse=True)
def beside_the_module(request: pytest.FixtureRequest, beside_the_session: None) -> Iterator[None]:
    """Start the other marked tests of the module."""
    found = [item for item in marked(request) if item.module is request.module and RUNNING not in item.stash]
    with started(found, request):
        yield


def marked(request: pytest.FixtureRequest) -> list[Any]:
    """Return the marked tests below the conftest whose fixture asks."""
    name = request.fixturename
    return [
        item
        for item in request.session.items
        if item.get_closest_marker("side_by_side") and request._fixturedef in definitions(item, str(name))
    ]


def definitions(item: Any, name: str) -> Any:
    return item._fixtureinfo.name2fixturedefs.get(name, ())


def takes_fixtures_of_its_module(item: Any) -> bool:
    last = [found[-1] for name in item._fixtureinfo.argnames if (found := definitions(item, name))]
    return any(each.scope == "module" or item.nodeid.startswith(f"{each.baseid}::") for each in last)


@contextmanager
def started(items: list[Any], request: pytest.FixtureRequest) -> Iterator[None]:
    with ThreadPoolExecutor(THREADS_MAX) as threads:
        for item in items:
            arguments = {name: value_of(item, name, request) for name in item._fixtureinfo.argnames}
            item.stash[RUNNING] = threads.submit(item.obj, **arguments)
        yield


def value_of(item: Any, name: str, request: pytest.FixtureRequest) -> Any:
    """Return a parameter of the test, a folder of its own, or a fixture of its module or the session."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if name in parameters:
        return parameters[name]
    if name == "tmp_path":
        return request.getfixturevalue("tmp_path_factory").mktemp("beside")
    return request.getfixturevalue(name)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Wait for a test that runs already."""
    running = pyfuncitem.stash.get(RUNNING, None)
    if running is None:
        return None
    running.result()
    return True


@pytest.fixture
def alone(request: pytest.FixtureRequest) -> None:
    """Wait until no marked test runs: for a test that disturbs what all of them share."""
    for item in request.session.items:
        if running := item.stash.get(RUNNING, None):
            running.exception()
