from __future__ import annotations

import pytest

from tests.infra.options import CALLBACKS
from tests.infra.synthesis import Assembly, synthesised


@pytest.fixture(scope="session")
def plain() -> Assembly:
    """The deployment with every setting at its default."""
    return synthesised()


@pytest.fixture(scope="session")
def demo() -> Assembly:
    """The deployment with the demo's parts, the registrations queue and callbacks."""
    return synthesised(demo=True, grouper_registrations=True, callbacks=CALLBACKS)
