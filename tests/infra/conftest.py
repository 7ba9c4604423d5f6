from __future__ import annotations

import pytest

from tests.infra.options import CALLBACKS
from tests.infra.synthesis import Assembly, synthesised

STATE_MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:waits"


@pytest.fixture(scope="session")
def plain() -> Assembly:
    """The deployment with every setting at its default."""
    return synthesised()


@pytest.fixture(scope="session")
def full() -> Assembly:
    """The deployment with a work queue, the registrations queue, a resumed state machine, callbacks."""
    more = {"resumed_state_machines": STATE_MACHINE, "callbacks": CALLBACKS}
    return synthesised(grouper_registrations=True, job_queues="thumbs", **more)
