"""docs/glossary.md: every state, verdict and outcome has a line, and its terms name the public classes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import pytest

import fanin
from tests.test_words import REFUSED, REFUSED_IN_CODE, parts

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "glossary.md").read_text()
ROWS = re.findall(r"^- \*\*(.+?)\*\*: (.+)$", PAGE, re.MULTILINE)
CAPABILITIES = ("fanin.tracker", "fanin.grouper", "fanin.queue")
# Terms of programming that need no definition here.
# fmt: off
ORDINARY = frozenset({
    "access", "added", "as", "async", "by", "call", "connection", "context", "denied", "effects", "error",
    "exceeded", "filter", "function", "handled", "id", "invalid", "lead", "list", "memory", "new", "options",
    "query", "refused", "registered", "report", "reporter", "request", "send", "settings", "stale", "status",
    "store", "tables", "timing", "unavailable", "write",
})
# fmt: on
# The product's name, and the causes of errors.
NAMES = frozenset({"fanin", "conflict", "reused"})
# The singular, or the verb, of a term.
FORMS = {
    "ended": "end",
    "grouper": "group",
    "jobs": "job",
    "notices": "notice",
    "policies": "policy",
    "swept": "sweep",
}


def parts_of(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z][a-z]*", name)]


def terms() -> set[str]:
    """Every part of a defined term, of a heading and of a defined value."""
    heads = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    texts = [term for term, _ in ROWS] + heads + sorted(defined_values())
    return {part.lower() for text in texts for part in re.findall(r"[A-Za-z]+", text)}


def modules() -> Iterable[object]:
    for name in CAPABILITIES:
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            yield importlib.import_module(found.name)


def enums() -> list[type[StrEnum]]:
    found = {
        value
        for module in modules()
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, StrEnum) and value is not StrEnum
    }
    return sorted(found, key=lambda each: (each.__module__, each.__name__))


def exported() -> list[str]:
    packages = [fanin, *map(importlib.import_module, CAPABILITIES)]
    names = {name for package in packages for name in package.__all__}
    return sorted(name for name in names if name[0].isupper() and not name.isupper() and not is_refused(name))


def is_refused(name: str) -> bool:
    """Whether tests/test_words.py refuses the name already."""
    return any(re.search(rf"\b({pattern})\b", parts(name), re.IGNORECASE) for pattern in REFUSED) or any(
        re.search(pattern, name) for pattern in REFUSED_IN_CODE
    )


def defined_values() -> set[str]:
    """What is in backticks in a term, or in the line of the term whose values they are."""
    return {value for term, meaning in ROWS for value in re.findall(r"`([\w%]+)`", f"{term} {meaning}")}


@pytest.mark.parametrize("enum", enums(), ids=lambda enum: f"{enum.__module__}.{enum.__name__}")
def test_every_state_verdict_and_outcome_has_its_line(enum):
    assert {str(value) for value in enum} - defined_values() == set()


def test_every_public_class_is_named_by_defined_terms():
    known = terms() | ORDINARY | NAMES
    unknown = {
        name: [part for part in parts_of(name) if FORMS.get(part, part) not in known] for name in exported()
    }
    assert len(unknown) > 60

    assert {name: of_it for name, of_it in unknown.items() if of_it} == {}


def test_each_term_is_defined_once_and_in_alphabetical_order():
    for section in PAGE.split("\n## ")[1:]:
        terms_alone = section.split("\n\n")[1]
        defined = re.findall(r"^- \*\*(.+?)\*\*: ", terms_alone, re.MULTILINE)

        assert defined
        assert defined == sorted(set(defined), key=str.lower)


def test_the_states_of_the_enums_are_read():
    assert len(enums()) >= 10
