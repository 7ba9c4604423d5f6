from __future__ import annotations

from collections.abc import Iterator

import pytest

from fanin.local import LocalRun
from tests.side_by_side import alone, beside_the_module, beside_the_session, pytest_pyfunc_call

__all__ = ["alone", "beside_the_module", "beside_the_session", "pytest_pyfunc_call"]


@pytest.fixture(scope="session")
def run() -> Iterator[LocalRun]:
    """One local run for all tests of this room."""
    with LocalRun.start(archive=True) as started:
        yield started
