"""Free engines in the place of the user's: moto with its streams, and moto without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.moto_server import moto_server


@pytest.fixture(scope="session")
def engine_url() -> Iterator[str]:
    with moto_server() as url:
        yield url


@pytest.fixture(scope="session")
def streamless_url() -> Iterator[str]:
    """An engine that ignores the streams of tables."""
    with moto_server("--no-streams") as url:
        yield url
