from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from typer import testing

from examples.catalog.system.running import CONSUMERS, assembled
from fanin.local import LocalRun
from fanin.local.deploying.assembly import Assembly
from fanin.local.deploying.template import write
from tests.side_by_side import alone, beside_the_module, beside_the_session, pytest_pyfunc_call

__all__ = ["alone", "beside_the_module", "beside_the_session", "pytest_pyfunc_call"]

# All verbs of a command take a fifth of a second to make, and each run of it would make them again.
testing._get_command = cache(testing._get_command)


@pytest.fixture(scope="session")
def catalog() -> Path:
    """The assembly of examples/catalog as its demo deploys it, which takes long to make: one for both."""
    return assembled({"stage": "local", "consumer_concurrency": CONSUMERS}, print)


@pytest.fixture(scope="session")
def run(catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRun]:
    """One local run for all tests of this room, of what `fanin template` writes."""
    written = write(Assembly.read(catalog), tmp_path_factory.mktemp("template") / "written")
    with LocalRun.start(template_dir=written.parent) as started:
        yield started
