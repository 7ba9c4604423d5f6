"""One local run for all black-box cases: synthesised template, deployed handlers, pages of four items."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from benchmarks.races import Api
from fanin.aws.settings import Tables
from fanin.local import LocalRun
from fanin.tracker import Tracker
from fanin.tracker.dynamodb import DynamoStore
from tests.http.events import Events


@pytest.fixture(scope="session")
def run() -> Iterator[LocalRun]:
    with LocalRun.start(page_bits=4, demo=True) as run:
        yield run


@pytest.fixture(scope="session")
def api(run: LocalRun) -> Api:
    return Api(run.url)


@pytest.fixture(scope="session")
def bus(run: LocalRun) -> Events:
    return Events(run.client("sqs"), run.outputs["DemoEventsQueueUrl"])


@pytest.fixture
def tracker(run: LocalRun) -> Tracker:
    """The tracker itself on the tables of the run, for what HTTP cannot do: crash, or wait for a week."""
    tables = Tables(run.outputs["BatchesTable"], run.outputs["PagesTable"])
    return Tracker(DynamoStore(run.client("dynamodb"), tables), page_bits=4, fresh_for=timedelta(0))
