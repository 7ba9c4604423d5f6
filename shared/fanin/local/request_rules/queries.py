"""The rules for queries and scans of DynamoDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanin.local.request_rules.expression_rules import NAMES, VALUES, resolved, type_of
from fanin.local.request_rules.expressions import Call, Parsed
from fanin.local.request_rules.refusal import bounded, invalid
from fanin.local.request_rules.table_keys import TableKeys

QUERY = "DynamoDB API Reference, Query"
SCAN = "DynamoDB API Reference, Scan"
SEGMENTS_MAX = 1_000_000
SORTED = frozenset({"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"})


def check_read(request: Mapping[str, Any], found: Mapping[str, Parsed], known: TableKeys | None) -> None:
    """Raise Refused if *request*, a query or a scan with the expressions *found*, is not accepted."""
    limit = request.get("Limit")
    if limit is not None and limit < 1:
        raise invalid(f"Limit: {limit}, and at least 1 is needed", QUERY)
    index = known.indexes.get(request.get("IndexName", "")) if known else None
    if request.get("ConsistentRead") and index and not index.is_local:
        raise invalid("Consistent reads are not supported on global secondary indexes", QUERY)
    _check_segments(request)
    if known and (keys := known.of_index(request.get("IndexName"))):
        if condition := found.get("KeyConditionExpression"):
            _check_key_condition(request, condition, keys)
            _check_key_types(request, condition, known)
        _check_filter(request, found.get("FilterExpression"), keys)
        _check_projected(request, found.get("ProjectionExpression"), known)


def _check_segments(request: Mapping[str, Any]) -> None:
    segment, total = request.get("Segment"), request.get("TotalSegments")
    if segment is None and total is None:
        return
    if segment is None or total is None:
        raise invalid("Segment and TotalSegments are needed together", SCAN)
    bounded("TotalSegments", total, SEGMENTS_MAX, SCAN)
    if not 0 <= segment < total:
        raise invalid(f"Segment: {segment}, and less than TotalSegments is needed", SCAN)


def _check_key_condition(request: Mapping[str, Any], condition: Parsed, keys: tuple[str, ...]) -> None:
    """Raise Refused unless the condition has ``=`` for the partition key and at most one for the sort key."""
    found = dict[str, list[str]]()
    for call in condition.calls:
        found.setdefault(_name(request, call), []).append(call.operator)
    if found.pop(keys[0], None) != ["="]:
        raise invalid(f"Query condition missed key schema element: {keys[0]}", QUERY)
    ranges = found.pop(keys[1], []) if len(keys) == 2 else []
    if found or len(ranges) > 1 or not SORTED.issuperset(ranges):
        raise invalid("Query key condition not supported", QUERY)
    if not condition.joins <= {"AND"}:
        raise invalid("Query key condition not supported: only AND joins its parts", QUERY)


def _name(request: Mapping[str, Any], call: Call) -> str:
    """Return the attribute that *call* compares; nothing where there is none, or a part of one."""
    operand = call.operands[0]
    is_name = isinstance(operand, tuple) and len(operand) == 1
    return str(resolved(operand, request.get(NAMES) or {})[0]) if is_name else ""  # type: ignore[arg-type]


def _check_key_types(request: Mapping[str, Any], condition: Parsed, known: TableKeys) -> None:
    """Raise Refused if a value cannot be that of its key."""
    values = request.get(VALUES) or {}
    for call in condition.calls:
        name = _name(request, call)
        for operand in call.operands[1:]:
            found = type_of(operand, values)
            if found and found != known.kinds[name]:
                detail = f"Condition parameter type does not match schema type: {name} is {known.kinds[name]}"
                raise invalid(f"One or more parameter values were invalid: {detail}", QUERY)
            if found and call.operator == "=":
                known.check_key_value(name, values[operand])


def _check_filter(request: Mapping[str, Any], condition: Parsed | None, keys: tuple[str, ...]) -> None:
    """Raise Refused if the filter of a query has a key; that of a scan may."""
    if condition is None or "KeyConditionExpression" not in request:
        return
    for path in condition.paths:
        name = resolved(path, request.get(NAMES) or {})[0]
        if name in keys:
            detail = "Filter Expression can only contain non-primary key attributes"
            raise invalid(f"{detail}: Primary key attribute: {name}", QUERY)


def _check_projected(request: Mapping[str, Any], asked: Parsed | None, known: TableKeys) -> None:
    """Raise Refused if an attribute is asked of a global index that does not have it.

    Of a local index DynamoDB fetches it from the table.
    """
    index = known.indexes.get(request.get("IndexName", ""))
    if index is None or index.is_local or index.projected is None:
        return
    if request.get("Select") == "ALL_ATTRIBUTES":
        raise invalid("Select type ALL_ATTRIBUTES is not supported: the index does not project all", QUERY)
    names = {str(resolved(path, request.get(NAMES) or {})[0]) for path in (asked.paths if asked else ())}
    if missing := names - known.names_in(index):
        listed = ", ".join(sorted(missing))
        raise invalid(f"Global secondary index {request['IndexName']} does not project {listed}", QUERY)
