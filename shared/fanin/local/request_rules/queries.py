"""The rules for queries and scans of DynamoDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanin.local.request_rules.expressions import Parsed
from fanin.local.request_rules.placeholders import NAMES, resolved
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
        _check_key_condition(request, found.get("KeyConditionExpression"), keys)
        _check_filter(request, found.get("FilterExpression"), keys)


def _check_segments(request: Mapping[str, Any]) -> None:
    segment, total = request.get("Segment"), request.get("TotalSegments")
    if segment is None and total is None:
        return
    if segment is None or total is None:
        raise invalid("Segment and TotalSegments are needed together", SCAN)
    bounded("TotalSegments", total, SEGMENTS_MAX, SCAN)
    if not 0 <= segment < total:
        raise invalid(f"Segment: {segment}, and less than TotalSegments is needed", SCAN)


def _check_key_condition(request: Mapping[str, Any], condition: Parsed | None, keys: tuple[str, ...]) -> None:
    """Raise Refused unless the condition has ``=`` for the partition key and at most one for the sort key."""
    if condition is None:
        return
    found = dict[str, list[str]]()
    for operator, path in condition.comparisons:
        name = str(resolved(path, request.get(NAMES) or {})[0]) if path else ""
        found.setdefault(name, []).append(operator)
    if found.pop(keys[0], None) != ["="]:
        raise invalid(f"Query condition missed key schema element: {keys[0]}", QUERY)
    ranges = found.pop(keys[1], []) if len(keys) == 2 else []
    if found or len(ranges) > 1 or not SORTED.issuperset(ranges):
        raise invalid("Query key condition not supported", QUERY)
    if not condition.joins <= {"AND"}:
        raise invalid("Query key condition not supported: only AND joins its parts", QUERY)


def _check_filter(request: Mapping[str, Any], condition: Parsed | None, keys: tuple[str, ...]) -> None:
    """Raise Refused if the filter of a query has a key; that of a scan may."""
    if condition is None or "KeyConditionExpression" not in request:
        return
    for path in condition.paths:
        name = resolved(path, request.get(NAMES) or {})[0]
        if name in keys:
            detail = "Filter Expression can only contain non-primary key attributes"
            raise invalid(f"{detail}: Primary key attribute: {name}", QUERY)
