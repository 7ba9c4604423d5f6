"""Sizes and rules of attribute values, in DynamoDB JSON as it is sent or as botocore takes it.

Binary values are bytes for botocore, and base64 in a request.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from fanin.local.request_rules.refusal import QUOTAS, bounded, invalid

Value = Mapping[str, Any]
Item = Mapping[str, Value]

ITEM_BYTES = 400 * 1024
DIGITS_MAX = 38
DEPTH_MAX = 32
LARGEST, SMALLEST = Decimal("9.9999999999999999999999999999999999999E+125"), Decimal("1E-130")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
SCALARS = frozenset({"S", "N", "B", "BOOL", "NULL"})
SETS = {"SS": "S", "NS": "N", "BS": "B"}
# Developer Guide, "DynamoDB item sizes and formats": 3 bytes a list or map, and one for each of its entries.
CONTAINER_BYTES, ENTRY_BYTES = 3, 1


def octets(value: bytes | bytearray | str) -> bytes:
    """Return the bytes of a binary value."""
    return base64.b64decode(value) if isinstance(value, str) else bytes(value)


def check_value(value: Value, depth: int = 1) -> None:
    """Raise Refused if DynamoDB stores no such *value*."""
    if len(value) != 1:
        raise invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
    bounded("Nesting levels of an attribute", depth, DEPTH_MAX)
    ((kind, found),) = value.items()
    if kind == "N":
        _check_number(found)
    elif kind in SETS:
        _check_set(kind, found)
    elif kind in {"L", "M"}:
        for each in found if kind == "L" else found.values():
            check_value(each, depth + 1)
    elif kind not in SCALARS:
        raise invalid(f"{kind} is not a type of DynamoDB")
    elif kind == "NULL" and found is not True:
        raise invalid("One or more parameter values were invalid: Null attribute value types must be true")


def check_item(item: Item) -> None:
    """Raise Refused if DynamoDB stores no such *item*."""
    for name, value in item.items():
        if not name:
            raise invalid("One or more parameter values were invalid: an attribute's name is empty")
        bounded(f"Bytes of the attribute name {name[:40]!r}", len(name.encode()), 65_535)
        check_value(value)
    bounded("Bytes of the item", size_of_item(item), ITEM_BYTES)


def size_of_item(item: Item) -> int:
    """Return the bytes of *item* as DynamoDB counts them, names included."""
    return sum(len(name.encode()) + size_of(value) for name, value in item.items())


def size_of(value: Value) -> int:
    """Return the bytes of *value* as DynamoDB counts them."""
    ((kind, found),) = value.items()
    if kind in SETS:
        return sum(size_of({SETS[kind]: each}) for each in found)
    if kind == "L":
        return CONTAINER_BYTES + sum(ENTRY_BYTES + size_of(each) for each in found)
    if kind == "M":
        return CONTAINER_BYTES + ENTRY_BYTES * len(found) + size_of_item(found)
    if kind == "S":
        return len(found.encode())
    if kind == "B":
        return len(octets(found))
    return _size_of_number(found) if kind == "N" else 1


def _size_of_number(text: str) -> int:
    """Return a byte for two significant digits, one for the exponent, and one for a sign."""
    return (len(_significant(text)) + 1) // 2 + 1 + text.startswith("-")


def _significant(text: str) -> str:
    digits = re.sub(r"[eE].*|[^0-9]", "", text)
    return digits.strip("0") or "0"


def _check_number(text: str) -> None:
    if not isinstance(text, str) or not NUMBER.fullmatch(text):
        raise invalid(f"The parameter cannot be converted to a numeric value: {text!r}")
    bounded("Significant digits of a number", len(_significant(text)), DIGITS_MAX)
    size = abs(Decimal(text))
    if size > LARGEST:
        raise invalid(
            "Number overflow. Attempting to store a number with magnitude larger than supported range"
        )
    if 0 < size < SMALLEST:
        raise invalid(
            "Number underflow. Attempting to store a number with magnitude smaller than supported range"
        )


def _check_set(kind: str, members: Iterable[Any]) -> None:
    listed = list(members)
    if not listed:
        raise invalid("One or more parameter values were invalid: An set may not be empty", QUOTAS)
    for each in listed:
        check_value({SETS[kind]: each})
    distinct = {Decimal(each) for each in listed} if kind == "NS" else set(map(_hashable, listed))
    if len(distinct) != len(listed):
        raise invalid("One or more parameter values were invalid: Input collection contains duplicates")


def _hashable(member: Any) -> Any:
    return bytes(member) if isinstance(member, bytes | bytearray) else member
