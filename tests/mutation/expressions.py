"""Changes of DynamoDB expressions: clauses, comparisons, functions and actions, in texts and in f-strings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

Change = tuple[str, ast.expr]
"""The name of an operator, and the node that it puts in the place of another."""

CONDITION = re.compile(r"attribute_(?:not_)?exists\(|begins_with\(|\w (?:<>|<=|>=|[=<>]) [:\w\ue000]|BETWEEN")
UPDATE = re.compile(r"^ ?(?:SET|ADD|REMOVE|DELETE) ")
ACTION = re.compile(r" ?\b(?:SET|ADD|REMOVE|DELETE) ")
HOLE = "\ue000"
COMPARED = {"<=": ("<",), ">=": (">",), "<": ("<=",), ">": (">=",), "=": ("<>", ">=", "<="), "<>": ("=",)}
FUNCTIONS = {
    "attribute_exists": "attribute_not_exists",
    "attribute_not_exists": "attribute_exists",
}


def expression_changes(node: ast.expr) -> Iterator[Change]:
    """Yield the changes of *node* if it is a text with a DynamoDB expression."""
    text, parts = _text_of(node)
    if text in (" AND ", " OR "):
        yield "joiner", ast.Constant(" OR " if text == " AND " else " AND ")
    elif UPDATE.match(text):
        for name, changed in _of_update(text):
            yield name, _node_of(changed, parts)
    elif CONDITION.search(text):
        for name, changed in _of_condition(text):
            yield name, _node_of(changed, parts)


def always(condition: ast.expr) -> ast.expr:
    """Return a condition that always holds and uses the names and values of *condition*.

    A request with values that its expressions do not use is rejected, which would hide that the condition is
    missing.
    """
    opened = ast.BinOp(ast.Constant("(("), ast.Add(), condition)
    middle = ast.BinOp(opened, ast.Add(), ast.Constant(") OR NOT ("))
    return ast.BinOp(ast.BinOp(middle, ast.Add(), condition), ast.Add(), ast.Constant("))"))


def _text_of(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """Return the text with a HOLE for each value that is formatted into it, and these values."""
    if isinstance(node, ast.Constant):
        return (node.value, []) if isinstance(node.value, str) else ("", [])
    if not isinstance(node, ast.JoinedStr):
        return "", []
    parts = [value for value in node.values if not isinstance(value, ast.Constant)]
    texts = [value.value if isinstance(value, ast.Constant) else HOLE for value in node.values]
    return "".join(texts), parts


def _node_of(numbered: str, parts: list[ast.expr]) -> ast.expr:
    """Return the node of a text whose holes are numbered: the inverse of ``_text_of``."""
    values: list[ast.expr] = []
    for piece in re.split(r"(\ue000\d+\ue001)", numbered):
        if piece.startswith(HOLE):
            values.append(parts[int(piece[1:-1])])
        elif piece:
            values.append(ast.Constant(piece))
    return ast.JoinedStr(values) if parts else ast.Constant(numbered)


def _numbered(text: str) -> str:
    pieces = text.split(HOLE)
    return pieces[0] + "".join(f"{HOLE}{at}\ue001{piece}" for at, piece in enumerate(pieces[1:]))


def _of_condition(text: str) -> Iterator[tuple[str, str]]:
    numbered = _numbered(text)
    for start, end in _groups(numbered):
        before, inner, after = numbered[:start], numbered[start:end], numbered[end:]
        for name, changed in _of_clauses(inner):
            yield name, before + changed + after
    for found in re.finditer(r"<>|<=|>=|[=<>]", numbered):
        for other in COMPARED[found.group()]:
            yield f"compared[{other}]", numbered[: found.start()] + other + numbered[found.end() :]
    for found in re.finditer(r"attribute_(?:not_)?exists", numbered):
        yield "existence", numbered[: found.start()] + FUNCTIONS[found.group()] + numbered[found.end() :]


def _of_clauses(text: str) -> Iterator[tuple[str, str]]:
    """Yield *text* without the effect of each of its clauses, and with the other operator between them."""
    for operator, other in ((" AND ", " OR "), (" OR ", " AND ")):
        clauses = _split(text, operator)
        if len(clauses) > 1:
            for at, clause in enumerate(clauses):
                yield (
                    "drop-clause",
                    operator.join([*clauses[:at], _idle(clause, operator), *clauses[at + 1 :]]),
                )
            yield operator.strip().lower() + "-joined", other.join(clauses)


def _groups(text: str) -> Iterator[tuple[int, int]]:
    """Yield the extent of the whole text, and of what stands in each bracket that is no argument list."""
    yield 0, len(text)
    for found in re.finditer(r"(?<![\w])\((?=.* (?:AND|OR) )", text):
        if not text[: found.start()].endswith("IN "):
            start = found.end()
            yield start, start + _closing(text[start - 1 :]) - 1


def _closing(text: str) -> int:
    """The position of the bracket that closes the first one of *text*; its end if none does."""
    depth = 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return at
    return len(text)


def _idle(clause: str, operator: str) -> str:
    """Return what stands for a dropped clause: it uses the same values."""
    if operator == " AND ":
        return f"(({clause}) OR NOT ({clause}))"
    return f"(({clause}) AND NOT ({clause}))"


def _split(text: str, operator: str) -> list[str]:
    """Split *text* at each *operator* that stands in no bracket."""
    clauses, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if text.startswith(operator, at) and depth == 0:
            clauses.append(text[start:at])
            start = at + len(operator)
    return [*clauses, text[start:]]


def _of_update(text: str) -> Iterator[tuple[str, str]]:
    numbered = _numbered(text)
    starts = [found.start() for found in ACTION.finditer(numbered)] + [len(numbered)]
    sections = [numbered[start:end] for start, end in pairwise(starts)]
    for at, section in enumerate(sections):
        others = [*sections[:at], "", *sections[at + 1 :]]
        if len(sections) > 1:
            yield "drop-section", "".join(others)
        for changed in _of_section(section):
            others[at] = changed
            yield "drop-action", "".join(others)


def _of_section(section: str) -> Iterator[str]:
    """Yield the section without each of its actions; a section of one action is dropped as a whole."""
    verb = ACTION.match(section)
    if verb is None:
        return
    actions = section[verb.end() :].split(", ")
    for at in range(len(actions)) if len(actions) > 1 else ():
        yield verb.group() + ", ".join([*actions[:at], *actions[at + 1 :]])
