"""docs/errors.md, compared with the classes of errors and the kinds of problems."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import fanin.errors
import fanin.queue.rules.errors
from fanin.api.problems import KINDS
from fanin.errors import FaninError

PAGE = (Path(__file__).parents[2] / "docs" / "errors.md").read_text()
IN_PYTHON, OVER_HTTP = (
    PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0] for title in ("In Python", "Over HTTP")
)


def own_errors() -> dict[str, type[FaninError]]:
    modules = (fanin.errors, fanin.queue.rules.errors)
    classes = (each for module in modules for each in vars(module).values() if inspect.isclass(each))
    return {each.__name__: each for each in classes if issubclass(each, FaninError)}


def rows() -> list[tuple[str, list[str]]]:
    """Each row of the table in Python: its indentation, and the errors that it names."""
    found = re.findall(r"^( {4})?- (`\w+`(?:, `\w+`)*): ", IN_PYTHON, re.MULTILINE)
    return [(indent, re.findall(r"`(\w+)`", names)) for indent, names in found]


def test_every_error_has_its_row():
    named = [name for _, names in rows() for name in names]

    assert sorted(named) == sorted(own_errors())


def test_every_kind_of_problem_has_its_row_and_status():
    found = re.findall(r"^- (`[a-z-]+`(?:, `[a-z-]+`)*) \((\d{3})\): ", OVER_HTTP, re.MULTILINE)
    listed = {(name, int(status)) for names, status in found for name in re.findall(r"`([a-z-]+)`", names)}

    assert listed == {(kind.name, kind.status) for kind in KINDS.values()}
