"""The shape of a request: its operation and expressions, without what varies by number.

Digits at the end of names are left out and neighbours that are then alike are one, so that all writes of
20 digits of a page have one shape. The requests of production code are noted, with the tests that sent them;
those of tests, lab and examples are not. ``tests/contract/expressions.json`` lists all shapes, and the
contract suites send each of them: `make witness` compares the list with what they sent on each engine.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from fanin.local.request_rules.expression_rules import EXPRESSIONS
from fanin.local.request_rules.expressions import TOKEN

ROOT = Path(__file__).resolve().parents[2]
PRODUCTION = tuple(str(ROOT / room) for room in ("shared", "functions", "pipeline"))
OWN = (str(ROOT / "tests"), str(ROOT / "lab"), str(ROOT / "examples"), *PRODUCTION)
# The rules themselves, and what names the tables of an engine, stand between a request and who sends it.
RULES = (
    str(Path(__file__).parent),
    str(ROOT / "shared/fanin/local"),
    str(ROOT / "tests/contract/engines.py"),
)
LISTED = ROOT / "tests" / "contract" / "expressions.json"
FOUND = ROOT / "build" / "witness" / "expressions"
NUMBERED = re.compile(r"^([#:]?[A-Za-z]+?)[0-9]+$")
ALIKE = re.compile(r"(?P<one>(?:\S+ )+?)(?P<join>, |AND |OR )(?:(?P=one)(?P=join))*(?P=one)")
Sent = dict[str, set[str]]
"""The shapes of requests, each with the names of the tests that sent it."""
SEEN: Sent = {}
CHECKED = True
"""Whether a shape that is not listed is noted in UNLISTED."""
UNLISTED: list[str] = []
"""What production code sent and is not listed; tests/conftest.py fails the test that it happened in."""


@lru_cache(maxsize=4096)
def shape_of(expression: str) -> str:
    """Return the shape of an expression."""
    tokens = [match["token"] for match in TOKEN.finditer(expression) if match["token"]]
    text = " ".join(NUMBERED.sub(r"\1", token) for token in tokens) + " "
    while (shorter := ALIKE.sub(lambda match: match["one"], text)) != text:
        text = shorter
    return text.strip()


def shape(operation: str, request: Mapping[str, Any]) -> str:
    """Return the shape of a request; empty without expressions."""
    if "TransactItems" in request:
        actions = [
            shape(kind, one) or kind for each in request["TransactItems"] for kind, one in each.items()
        ]
        return f"{operation}: {' + '.join(dict.fromkeys(actions))}"
    if operation == "BatchGetItem":
        parts = [
            shape_of(each["ProjectionExpression"])
            for each in request["RequestItems"].values()
            if "ProjectionExpression" in each
        ]
        return f"{operation} {' '.join(parts)}" if parts else ""
    if operation == "BatchExecuteStatement":
        parts = {_of_statement(each["Statement"]) for each in request["Statements"]}
        return f"{operation} {' + '.join(sorted(parts))}"
    names = request.get("ExpressionAttributeNames") or {}
    found = [_named(shape_of(request[kind]), names) for kind in EXPRESSIONS if request.get(kind)]
    index = [request["IndexName"]] if request.get("IndexName") else []
    return f"{operation} {' | '.join(index + found)}" if found else ""


def shapes(operation: str, request: Mapping[str, Any]) -> list[str]:
    """Return the shapes of a request: one for each page that a transaction writes with the row of its batch.

    Each page has one of a few shapes, and pages of all of them may be in one transaction.
    """
    actions = request.get("TransactItems", [])
    tables = [next(iter(each.values()))["TableName"] for each in actions]
    pages = [each for each, table in zip(actions, tables, strict=True) if table != tables[-1]]
    others = [each for each, table in zip(actions, tables, strict=True) if table == tables[-1]]
    updates = all("Update" in each for each in actions)
    parts: list[Mapping[str, Any]] = [{"TransactItems": [page, *others]} for page in pages if updates]
    return [found for part in parts or [request] if (found := shape(operation, part))]


def _of_statement(statement: str) -> str:
    """Return the verb of a statement of PartiQL, and the attributes that it names."""
    names = (NUMBERED.sub(r"\1", name) for name in re.findall(r"'(\w+)':", statement))
    return " ".join([statement.partition(" ")[0], *dict.fromkeys(names)])


def _named(text: str, names: Mapping[str, str]) -> str:
    """Return *text* with the names of attributes; the names of labels are the users'."""
    named = " ".join(names.get(token, token) for token in text.split())
    return re.sub(r"labels \. \S+", "labels . NAME", named)


def note(operation: str, request: Mapping[str, Any]) -> None:
    """Note the shape of a request that production code sends."""
    for found in shapes(operation, request) if _is_production() else ():
        SEEN.setdefault(found, set()).add(_test())
        if CHECKED and found not in listed():
            UNLISTED.append(found)


def _test() -> str:
    """Return the name of the test that runs, without its parameters."""
    return re.split(r"[\[ ]", os.environ.get("PYTEST_CURRENT_TEST", ""))[0]


def _is_production() -> bool:
    """Return whether the innermost function of this project that sends the request is no test's."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(OWN) and not name.startswith(RULES):
            return name.startswith(PRODUCTION)
        frame = frame.f_back
    return False


@lru_cache(maxsize=1)
def listed() -> frozenset[str]:
    """Return the shapes that production code sends."""
    return frozenset(json.loads(LISTED.read_text()))


def keep(engine: str) -> None:
    """Write what this process sent to *engine*."""
    FOUND.mkdir(parents=True, exist_ok=True)
    sent = {shape: sorted(SEEN[shape]) for shape in sorted(SEEN)}
    (FOUND / f"{engine}.json").write_text(json.dumps(sent, indent=1, ensure_ascii=False) + "\n")


def kept(engine: str) -> Sent:
    """Return what the last process of *engine* sent, and remove it; nothing if it was never written."""
    path = FOUND / f"{engine}.json"
    if not path.exists():
        return {}
    sent = json.loads(path.read_text())
    path.unlink()
    return {shape: set(tests) for shape, tests in sent.items()}
