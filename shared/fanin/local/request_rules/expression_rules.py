"""Rules for the expressions of one request or action together: placeholders, overlapping paths, operands.

Operands are checked as far as placeholders show them before an item is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import pairwise
from typing import Any

from fanin.local.request_rules.attribute_values import Item, check_value, octets, size_of
from fanin.local.request_rules.expressions import (
    COMPARATORS,
    GUIDE,
    PAGE,
    UPDATES,
    Call,
    Operand,
    Parsed,
    Path,
    Write,
    parsed,
)
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
COMPARISONS = "DynamoDB API Reference, Condition"
TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"})
ORDERED = frozenset({"S", "N", "B"})
SETS = frozenset({"SS", "NS", "BS"})
# The types that a value may have beside an operator or within a function; any beside the others.
ALLOWED = {
    **dict.fromkeys(("<", "<=", ">", ">=", "BETWEEN"), ORDERED),
    "begins_with": frozenset({"S", "B"}),
    "size": TYPES - {"N", "BOOL", "NULL"},
    "+": frozenset({"N"}),
    "-": frozenset({"N"}),
    "list_append": frozenset({"L"}),
    "ADD": SETS | {"N"},
    "DELETE": SETS,
}
RESULTS = {"size": "N", "list_append": "L"}
OF_PATHS = frozenset({"attribute_exists", "attribute_not_exists", "attribute_type", "if_not_exists"})
DISTINCT = COMPARATORS | {"contains", "begins_with"}


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


def _check_used(parameter: str, kind: str, given: Mapping[str, Any] | None, used: Iterable[set[str]]) -> None:
    wanted = set[str]().union(*used)
    if given is not None and not given:
        raise invalid(f"{parameter} must not be empty", PAGE)
    for name in given or ():
        if len(name) < 2 or name[0] != ("#" if kind == "name" else ":"):
            raise invalid(f"{parameter} contains invalid key: Syntax error; key: {name!r}", PAGE)
        bounded(f"Bytes of the placeholder {name[:40]!r}", len(name.encode()), PLACEHOLDER_BYTES, PAGE)
    if unused := set(given or ()) - wanted:
        listed = ", ".join(sorted(unused))
        raise invalid(f"Value provided in {parameter} unused in expressions: keys: {{{listed}}}", PAGE)
    if undefined := wanted - set(given or ()):
        listed = ", ".join(sorted(undefined))
        raise invalid(f"An expression attribute {kind} used in an expression is not defined: {listed}", PAGE)


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


def resolved(path: Path, names: Mapping[str, str]) -> Path:
    """Return *path* with the attribute names that its placeholders stand for."""
    return tuple(names.get(part, part) if isinstance(part, str) else part for part in path)


def check_operands(kind: str, expression: Parsed, values: Item, names: Mapping[str, str]) -> None:
    """Raise Refused if an operator of *expression*, of the parameter *kind*, cannot have its operands."""
    for call in (*expression.calls, *map(_call_of, expression.writes)):
        for operand in call.operands:
            _check_type(kind, call.operator, type_of(operand, values))
        if call.operator in OF_PATHS and isinstance(call.operands[0], str):
            raise invalid(f"Invalid {kind}: {call.operator} requires a document path", _page(kind))
        if call.operator in DISTINCT:
            _check_distinct(kind, call, names)
        if call.operator == "attribute_type":
            _check_named_type(kind, call.operands[1], values)
        if call.operator == "BETWEEN":
            _check_bounds(kind, call.operands[1:], values)


def type_of(operand: Operand, values: Item) -> str:
    """Return the type of *operand*, or nothing if only an item shows it."""
    if not isinstance(operand, str):
        return ""
    return next(iter(values[operand])) if operand in values else RESULTS.get(operand, "")


def _call_of(write: Write) -> Call:
    return Call(write.clause, () if write.value is None else (write.value,))


def _page(kind: str) -> str:
    return UPDATES if kind == "UpdateExpression" else GUIDE


def _check_type(kind: str, operator: str, found: str) -> None:
    if found and found not in ALLOWED.get(operator, TYPES):
        detail = f"Incorrect operand type for {operator}: {found}"
        raise invalid(f"Invalid {kind}: {detail}", _page(kind))


def _check_distinct(kind: str, call: Call, names: Mapping[str, str]) -> None:
    first, second = (resolved(each, names) if isinstance(each, tuple) else () for each in call.operands)
    if first and first == second:
        detail = f"The first operand must be distinct from the remaining operands of {call.operator}"
        raise invalid(f"Invalid {kind}: {detail}", GUIDE)


def _check_named_type(kind: str, operand: Operand, values: Item) -> None:
    named = values[operand].get("S") if isinstance(operand, str) and operand in values else None
    if named not in TYPES:
        raise invalid(f"Invalid {kind}: Invalid attribute type name found: {named!r}", GUIDE)


def _check_bounds(kind: str, bounds: tuple[Operand, ...], values: Item) -> None:
    """Raise Refused if both bounds are values, and of two types or in the wrong order."""
    given = [values[each] for each in bounds if isinstance(each, str) and each in values]
    if len(given) < 2:
        return
    (low_type, low), (high_type, high) = (next(iter(each.items())) for each in given)
    if low_type != high_type:
        raise invalid(f"Invalid {kind}: BETWEEN requires bounds of one type", COMPARISONS)
    if _SORTED[low_type](low) > _SORTED[high_type](high):
        detail = "BETWEEN requires an upper bound that is not less than the lower one"
        raise invalid(f"Invalid {kind}: {detail}", COMPARISONS)


_SORTED: Mapping[str, Callable[[Any], Any]] = {"S": str.encode, "N": Decimal, "B": octets}
