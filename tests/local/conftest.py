from __future__ import annotations

from collections.abc import Iterator

import pytest

from fanin.local import LocalRun


@pytest.fixture(scope="session")
def run() -> Iterator[LocalRun]:
    """One local run for all tests of this room."""
    with LocalRun.start() as started:
        yield started
