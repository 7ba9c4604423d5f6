"""docs/settings.md, held to what the stack reads."""

from __future__ import annotations

import dataclasses
import re

from infra.config import StackConfig
from infra.paths import ROOT

PAGE = (ROOT / "docs" / "settings.md").read_text()
ROW = re.compile(r"^- `(\w+)` \((\S+)\): (.+)$", re.MULTILINE)


def shown(default: object) -> str:
    """A default as the page writes it: a list without members is none, also as JSON."""
    if default in ("", (), "[]"):
        return "empty" if default == "" else "none"
    return f"`{str(default).lower()}`"


def test_the_page_has_every_setting_with_its_default_in_their_order():
    settings = [(field.name, shown(field.default)) for field in dataclasses.fields(StackConfig)]

    assert [(name, default) for name, default, _ in ROW.findall(PAGE)] == settings


def test_no_row_of_the_page_is_left_unread():
    rows = [line for line in PAGE.partition("\n## ")[0].splitlines() if line.startswith("- `")]

    assert len(ROW.findall(PAGE)) == len(rows)
