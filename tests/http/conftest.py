"""One local run for all black-box cases: synthesised template, deployed handlers, pages of four items."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.races import Api
from fanin.local import LocalRun


@pytest.fixture(scope="session")
def run() -> Iterator[LocalRun]:
    with LocalRun.start(page_bits=4) as run:
        yield run


@pytest.fixture(scope="session")
def api(run: LocalRun) -> Api:
    return Api(run.url)
