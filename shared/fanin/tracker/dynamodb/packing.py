"""Ranges of items as bytes: for each the distance from the end of the one before, and its size less one.

The numbers have 7 bits a byte, lowest first; the high bit says that more follow (LEB128).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Stretch = tuple[int, int]


def packed(ranges: Sequence[Stretch]) -> bytes:
    """Return *ranges*, (first, last) in order and apart, as bytes."""
    found = bytearray()
    end = 0
    for first, last in ranges:
        for value in (first - end, last - first):
            found += _number(value)
        end = last + 1
    return bytes(found)


def unpacked(data: bytes) -> tuple[Stretch, ...]:
    """Return the ranges in *data*: the inverse of :func:`packed`."""
    found: list[Stretch] = []
    end = 0
    numbers = _numbers(data)
    for gap, more in zip(numbers, numbers, strict=True):
        found.append((end + gap, end + gap + more))
        end = found[-1][1] + 1
    return tuple(found)


def _number(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def _numbers(data: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0
