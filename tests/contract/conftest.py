"""The engine of the contract suites: ``--endpoint``, or the emulator within this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract import engines


@pytest.fixture(scope="session", autouse=True)
def engine(request: pytest.FixtureRequest) -> Iterator[None]:
    given = request.config.getoption
    with engines.used(given("endpoint") or given("dynamodb")):
        yield
