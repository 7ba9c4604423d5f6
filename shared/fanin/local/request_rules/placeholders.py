"""Rules for the expressions of one request or action together: placeholders, overlapping paths, operands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from fanin.local.request_rules.attribute_values import check_value, size_of
from fanin.local.request_rules.expressions import PAGE, UPDATES, Parsed, parsed
from fanin.local.request_rules.operands import check_operands, resolved
from fanin.local.request_rules.refusal import bounded, invalid

EXPRESSIONS = (
    "UpdateExpression",
    "ConditionExpression",
    "KeyConditionExpression",
    "FilterExpression",
    "ProjectionExpression",
)
NAMES, VALUES = "ExpressionAttributeNames", "ExpressionAttributeValues"
PLACEHOLDER_BYTES, SUBSTITUTED_BYTES = 255, 2 * 1024 * 1024


def check_expressions(request: Mapping[str, Any]) -> dict[str, Parsed]:
    """Return the expressions of *request* by parameter; raise Refused where AWS refuses one."""
    found = {kind: parsed(kind, request[kind]) for kind in EXPRESSIONS if request.get(kind) is not None}
    names, values = request.get(NAMES), request.get(VALUES)
    _check_used(NAMES, "name", names, (each.names for each in found.values()))
    _check_used(VALUES, "value", values, (each.values for each in found.values()))
    for value in (values or {}).values():
        check_value(value)
    total = sum(len(each.encode()) for pair in (names or {}).items() for each in pair)
    total += sum(len(name.encode()) + size_of(value) for name, value in (values or {}).items())
    bounded("Bytes of all substitution variables", total, SUBSTITUTED_BYTES, PAGE)
    for kind in found.keys() & {"UpdateExpression", "ProjectionExpression"}:
        _check_overlaps(kind, found[kind], names or {})
    for kind, expression in found.items():
        check_operands(kind, expression, values or {}, names or {})
    return found


def _check_used(parameter: str, what: str, given: Mapping[str, Any] | None, used: Iterable[set[str]]) -> None:
    wanted = set[str]().union(*used)
    if given is not None and not given:
        raise invalid(f"{parameter} must not be empty", PAGE)
    for name in given or ():
        if len(name) < 2 or name[0] != ("#" if what == "name" else ":"):
            raise invalid(f"{parameter} contains invalid key: Syntax error; key: {name!r}", PAGE)
        bounded(f"Bytes of the placeholder {name[:40]!r}", len(name.encode()), PLACEHOLDER_BYTES, PAGE)
    if unused := set(given or ()) - wanted:
        listed = ", ".join(sorted(unused))
        raise invalid(f"Value provided in {parameter} unused in expressions: keys: {{{listed}}}", PAGE)
    if undefined := wanted - set(given or ()):
        listed = ", ".join(sorted(undefined))
        raise invalid(f"An expression attribute {what} used in an expression is not defined: {listed}", PAGE)


def _check_overlaps(kind: str, expression: Parsed, names: Mapping[str, str]) -> None:
    """Raise Refused if two paths are equal, or one is within the other."""
    paths = [each.path for each in expression.writes] if kind == "UpdateExpression" else expression.paths
    ordered = sorted((resolved(path, names) for path in paths), key=lambda path: [*map(_rank, path)])
    for one, other in pairwise(ordered):
        if other[: len(one)] == one:
            shown = ".".join(map(str, one)), ".".join(map(str, other))
            raise invalid(f"Invalid {kind}: Two document paths overlap with each other: {shown}", UPDATES)


def _rank(part: str | int) -> tuple[bool, int, str]:
    return (isinstance(part, str), part, "") if isinstance(part, int) else (True, 0, part)
