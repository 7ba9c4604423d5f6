"""docs/cost.md, compared with a new count."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cost.md").read_text()
# In a process of its own: it sets the environment of deployed functions, and moto for all clients.
COUNT = """
from lab.cost import counting, operations, page, stack
from tests.infra.synthesis import synthesised
counting.operations = lambda *given: list(operations._of_a_batch(operations.Bench(*given)))
stack.Stack.synthesised = lambda **settings: stack.Stack(synthesised(**settings).template)
print(page.written(counting.count((100,), (64,), {})))
"""


def printed(*program: str) -> str:
    search = {"PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}", "PATH": ""}
    return subprocess.run(
        [sys.executable, *program], env=search, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.proof
def test_the_idle_month_a_batch_the_acks_of_a_hundred_and_the_prices_are_those_of_a_new_count() -> None:
    rows = [line for line in printed("-c", COUNT).splitlines() if line.startswith("|")]

    assert len(rows) > 30
    assert [row for row in rows if row not in PAGE] == []


def test_an_idle_month_of_the_default_costs_less_than_three_dollars() -> None:
    (row,) = (line for line in PAGE.splitlines() if line.startswith("| all |"))
    off, lean, full = (float(each) for each in re.findall(r"\*\*\$([0-9.]+)\*\*", row))

    assert off < lean < 3 < full


@pytest.mark.proof
def test_the_whole_page_is_that_of_a_new_count() -> None:
    assert printed("-m", "lab.cost") == PAGE
