"""The tree of pages: where an item lies, what lies above it, and which pages are the last of their level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tail:
    """The last page of a level, as close marks it."""

    level: int
    number: int
    size: int
    root: bool


def tails(total: int, page_bits: int) -> Iterator[Tail]:
    """The last page of every level of a batch of *total* items (at least 1), leaves first, the root last."""
    level, entries = 0, total
    while True:
        pages = -(-entries // page_bits)
        yield Tail(level, pages - 1, entries - (pages - 1) * page_bits, root=pages == 1)
        if pages == 1:
            return
        level, entries = level + 1, pages


def height(total: int, page_bits: int) -> int:
    """The level of the root."""
    return max(tail.level for tail in tails(total, page_bits))


def stretches(first: int, last: int, page_bits: int) -> Iterator[tuple[int, int, int]]:
    """The items *first* to *last* by leaf page: (page, first bit, last bit), in order, ends inclusive."""
    for page in range(first // page_bits, last // page_bits + 1):
        base = page * page_bits
        yield page, max(first - base, 0), min(last - base, page_bits - 1)


def capacity(level: int, number: int, total: int, page_bits: int) -> int:
    """How many of the batch's *total* items lie under page *number* of *level*."""
    width: int = page_bits ** (level + 1)
    return max(0, min(width, total - number * width))
