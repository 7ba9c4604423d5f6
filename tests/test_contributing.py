"""CONTRIBUTING.md, compared with the tree: each path exists, and each name is defined in its file."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
ROW = re.compile(r"^- [^`]+: (`.+`) in `([^`]+\.py)`$", re.MULTILINE)
ROOMS = ("shared", "functions", "infra", "pipeline", "tests", "docs", "lab")
PATHS = {text for text in re.findall(r"`([\w./]+)`", PAGE) if text.split("/")[0] in ROOMS}


def defined_in(path: Path) -> set[str]:
    """The names of the module's classes, functions and constants, and ``Class.method``."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            methods = (each.name for each in node.body if isinstance(each, ast.FunctionDef))
            found |= {node.name, *(f"{node.name}.{method}" for method in methods)}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {each.id for each in targets if isinstance(each, ast.Name)}
    return found


def test_the_list_of_files_is_read():
    assert len(ROW.findall(PAGE)) >= 12


@pytest.mark.parametrize(("names", "file"), ROW.findall(PAGE))
def test_each_name_is_defined_in_its_file(names, file):
    assert set(re.findall(r"`([^`]+)`", names)) <= defined_in(ROOT / file)


@pytest.mark.parametrize("path", sorted(PATHS))
def test_each_path_exists(path):
    assert (ROOT / path).exists()


def test_each_room_of_the_package_has_a_row():
    rooms = {path.parent.name for path in (ROOT / "shared" / "fanin").glob("*/__init__.py")}

    assert {room for room in rooms if f"/{room}`" not in PAGE and f"`{room}`" not in PAGE} == set()


def test_functions_has_one_handler_a_file_and_nothing_else_at_its_top():
    files = set((ROOT / "functions").glob("*.py")) - {ROOT / "functions" / "__init__.py"}

    assert {path.name for path in files if "handler" not in defined_in(path)} == set()
