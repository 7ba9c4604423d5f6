"""The Spark session of the pipeline's tests, and no AWS in the environment."""

from __future__ import annotations

import os

import pytest

from tests.conftest import OURS
from tests.pipeline.conftest import spark

__all__ = ["spark"]


@pytest.fixture(autouse=True)
def no_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what the shell says of AWS and of a local run."""
    for name in list(os.environ):
        if name.startswith(OURS):
            monkeypatch.delenv(name)
