"""docs/threat_model.md: every threat has an answer and a test that exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "threat_model.md").read_text()
LINES = re.findall(r"^- \*\*[STRIDE]\*\*: .*$", PAGE, re.MULTILINE)
ROWS = re.findall(r"^- \*\*([STRIDE])\*\*: (.+?)\. \*([^*]+)\*: (`.+`)$", PAGE, re.MULTILINE)
"""The category, the threat, its answer and the tests."""
SECTIONS = PAGE.partition("## Boundaries")[2].split("\n### ")[1:]


@cache
def functions_of(path: str) -> set[str]:
    found = ast.walk(ast.parse((ROOT / path).read_text()))
    return {each.name for each in found if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}


def named() -> list[str]:
    return sorted({name for row in ROWS for name in re.findall(r"`([^`]+::\w+)`", row[-1])})


@pytest.mark.parametrize("name", named())
def test_every_test_that_the_page_names_exists(name: str) -> None:
    path, _, test = name.partition("::")

    assert test in functions_of(path)


def test_every_threat_has_an_answer_and_a_test() -> None:
    assert len(ROWS) == len(LINES) >= 40
    assert [row for row in ROWS if "::" not in row[3] or not all(row)] == []


def test_every_boundary_says_what_is_left() -> None:
    assert len(SECTIONS) == 7
    assert [section.splitlines()[0] for section in SECTIONS if "\nResidual: " not in section] == []


def test_every_category_of_stride_is_considered() -> None:
    assert {row[0] for row in ROWS} == set("STRIDE")
