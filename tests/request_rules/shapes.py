"""The shape of a request: its operation and expressions, without what varies by number.

Digits at the end of names are left out and neighbours that are then alike are one, so that all writes of
20 digits of a page have one shape. The requests of production code are noted; those of tests are not.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from fanin.local.request_rules.expressions import TOKEN
from fanin.local.request_rules.placeholders import EXPRESSIONS

ROOT = Path(__file__).resolve().parents[2]
PRODUCTION = tuple(str(ROOT / room) for room in ("shared", "functions", "pipeline", "benchmarks"))
OWN = (str(ROOT / "tests"), *PRODUCTION)
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
SEEN: set[str] = set()


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
    names = request.get("ExpressionAttributeNames") or {}
    found = [_named(shape_of(request[kind]), names) for kind in EXPRESSIONS if request.get(kind)]
    index = [request["IndexName"]] if request.get("IndexName") else []
    return f"{operation} {' | '.join(index + found)}" if found else ""


def _named(text: str, names: Mapping[str, str]) -> str:
    """Return *text* with the names of attributes; the names of labels are the users'."""
    named = " ".join(names.get(token, token) for token in text.split())
    return re.sub(r"labels \. \S+", "labels . NAME", named)


def note(operation: str, request: Mapping[str, Any]) -> None:
    """Note the shape of a request that production code sends."""
    if _is_production() and (found := shape(operation, request)):
        SEEN.add(found)


def _is_production() -> bool:
    """Return whether the innermost function of this project that sends the request is no test's."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(OWN) and not name.startswith(RULES):
            return name.startswith(PRODUCTION)
        frame = frame.f_back
    return False


def listed() -> set[str]:
    """Return the shapes that the whole suite sends, as they were last written."""
    return set(json.loads(LISTED.read_text())) if LISTED.exists() else set()


def keep(worker: str) -> None:
    """Write the shapes of this process to a file of its own."""
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / f"{worker}.json"
    before = set(json.loads(path.read_text())) if path.exists() else set()
    if SEEN - before:
        path.write_text(json.dumps(sorted(before | SEEN), indent=1, ensure_ascii=False) + "\n")


def kept(run: str) -> set[str]:
    """Return the shapes that the processes of *run* wrote: ``suite``, or an engine of the contract suites."""
    return {each for path in FOUND.glob(f"{run}-*.json") for each in json.loads(path.read_text())}
