"""The consumers over a store of a test's own."""

from __future__ import annotations

from tests.api.conftest import environment, memory

__all__ = ["environment", "memory"]
