from __future__ import annotations

import pytest

from tests.infra.synthesis import Assembly, synthesised


@pytest.fixture(scope="session")
def plain() -> Assembly:
    """The deployment with every setting at its default."""
    return synthesised()


@pytest.fixture(scope="session")
def demo() -> Assembly:
    """The deployment with the demo's parts and the registrations queue."""
    return synthesised(demo=True, grouper_registrations=True)
