from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from typer import testing

from fanin.local import LocalRun
from fanin.local import run as running
from fanin.local.stack.assembly import Assembly
from fanin.local.stack.template import write
from tests.side_by_side import alone, beside_the_module, beside_the_session, pytest_pyfunc_call

__all__ = ["alone", "beside_the_module", "beside_the_session", "pytest_pyfunc_call"]

# All verbs of a command take a fifth of a second to make, and each run of it would make them again.
testing._get_command = cache(testing._get_command)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRun]:
    """One local run for all tests of this room, of what `fanin template` writes."""
    synthesised = running._synthesised(running._context(True, None, None, {}), print)
    written = write(Assembly.read(synthesised), tmp_path_factory.mktemp("template") / "written")
    with LocalRun.start(template_dir=written.parent) as started:
        yield started
