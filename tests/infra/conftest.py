from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.infra.options import CALLBACKS, CONFIGURED, EVERYTHING, PUBLICATIONS
from tests.infra.synthesis import Assembly, synthesised, without_sources
from tests.infra.test_options import SINGLE, checked_folder

STATE_MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:waits"
DURABLE_FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:waits"


@pytest.fixture(scope="package", autouse=True)
def _without_sources() -> Iterator[None]:
    with without_sources():
        yield


@pytest.fixture(scope="session")
def default() -> Assembly:
    """The deployment with every setting at its default."""
    return synthesised()


@pytest.fixture(scope="session")
def full() -> Assembly:
    """The deployment with work queues, registrations, progress tokens, and what is for other resources."""
    more: dict[str, Any] = {"resumed_state_machines": STATE_MACHINE, "callbacks": CALLBACKS}
    more |= {
        "resumed_durable_functions": DURABLE_FUNCTION,
        "publications": PUBLICATIONS,
        "progress_tokens": True,
    }
    return synthesised(grouper_registrations=True, job_queues="thumbs", **more)


@pytest.fixture(scope="session")
def everything() -> Assembly:
    """The deployment with every part, no setting at its default, and the jobs on Glue."""
    return synthesised(**EVERYTHING)


@pytest.fixture(scope="session")
def on_emr() -> Assembly:
    """The same with the jobs on EMR Serverless, as test_options checks it."""
    return Assembly.of(checked_folder(SINGLE[0]))


@pytest.fixture(scope="session")
def configured() -> Assembly:
    """The deployment whose settings have values that the tests find in its template."""
    return synthesised(**CONFIGURED)
