"""Parses structs of Thrift's compact protocol, as Parquet has them before its pages. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TRUE, _FALSE, _I16, _I32, _I64, _BINARY, _STRUCT = 1, 2, 4, 5, 6, 8, 12
_MOST_BITS = 64
_DEEPEST = 3

Struct = Mapping[int, Any]
"""The values of fields by their ids: flags, integers of 32 bits, and structs; None of others."""


class NotParsed(ValueError):
    """The bytes are no page, or one that has what this package does not read."""


def struct(data: memoryview, at: int, depth: int = 0) -> tuple[Struct, int]:
    """Return the struct that begins at *at*, and where it ends. Raises NotParsed or IndexError."""
    found: dict[int, Any] = {}
    field = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            field += head >> 4
        else:
            field, at = _integer(data, at)
        if field in found:
            raise NotParsed
        found[field], at = _value(data, at, head & 15, depth)
    return found, at + 1


def _value(data: memoryview, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind == _I32:
        return _integer(data, at)
    if kind in (_I16, _I64):
        return None, _integer(data, at)[1]
    if kind == _BINARY:
        length, at = unsigned(data, at)
        return None, at + length
    if kind == _STRUCT and depth < _DEEPEST:
        return struct(data, at, depth + 1)
    raise NotParsed


def _integer(data: memoryview, at: int) -> tuple[int, int]:
    number, at = unsigned(data, at)
    return number >> 1 ^ -(number & 1), at


def unsigned(data: memoryview, at: int) -> tuple[int, int]:
    """Return the number that begins at *at*, seven bits a byte, and where it ends."""
    number = 0
    for shift in range(0, _MOST_BITS, 7):
        number |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return number, at
    raise NotParsed
