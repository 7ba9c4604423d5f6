"""What every test starts with: an environment that names no AWS, no stack and no local run."""

from __future__ import annotations

import os

OURS = ("AWS_", "FANIN_", "_X_AMZN_", "POWERTOOLS_")
CONSUMERS = ("BATCHES", "PAGES", "TENANT")
"""Names that ``fanin local env`` prints beside those."""


def pytest_configure() -> None:
    """Forget what the shell says of AWS and of a run, before any module of the tests is imported.

    A test that needs such a name sets it.
    """
    for name in list(os.environ):
        if name.startswith(OURS) or name in CONSUMERS:
            del os.environ[name]
