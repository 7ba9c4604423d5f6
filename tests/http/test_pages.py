"""Runs the tutorial, the how-to pages and an example, each from top to bottom, against the local run.

The example and the tutorial have up to a dozen processes, and run in `make proof`. In `make test` the
example's own tests run its functions, tests/cli the tutorial's verbs, and test_readme its first commands.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.pages import ROOT, PageRun
from tests.test_pages import RUN_WHOLE

# page: names that its Python blocks take from their reader, such as the work on an item.
GIVEN: dict[str, dict[str, Any]] = {}


def marked(page: Path) -> Any:
    """The parameter of a test of *page*."""
    is_long = page.is_relative_to(ROOT / "examples") or page.name == "tutorial.md"
    marks = [pytest.mark.proof] if is_long else []
    return pytest.param(page, id=page.name, marks=marks)


@pytest.mark.parametrize("page", [marked(page) for page in RUN_WHOLE])
def test_the_blocks_of_a_page_run_in_order(page: Path, run, tmp_path, monkeypatch):
    for name, value in run.environment.items():
        monkeypatch.setenv(name, value)
    for file in page.parent.glob("*.py"):  # those of an example
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    host, port = run.url.removeprefix("http://"), run.url.rpartition(":")[2]
    here = {"127.0.0.1:8787": host}
    # Pages of this run have four items, and progress is exact up to a hundred pages.
    here |= {"10000": "100", "10,000": "100", "9999": "99"}
    here |= {".venv/bin/python": "python"}  # the page's environment stands beside this one
    replaced = here | {"fanin local work ": f"fanin local work --port {port} "}
    names = dict(GIVEN.get(page.name, {}))
    with PageRun(tmp_path, run.environment, names, replaced) as running:
        running.page(page)
