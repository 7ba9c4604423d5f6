"""The tree of pages: where an item lies, what lies above it, and which pages are the last of their level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """How a batch's tree is built: items a leaf, and children a parent."""

    leaf: int
    fanout: int

    def width(self, level: int) -> int:
        """Items under a page of *level* that is not the last one."""
        span: int = self.leaf * self.fanout**level
        return span

    def capacity(self, level: int) -> int:
        """How many bits a page of *level* has, unless it is the last one."""
        return self.leaf if level == 0 else self.fanout


@dataclass(frozen=True, slots=True)
class Tail:
    """The last page of a level, as close marks it."""

    level: int
    number: int
    size: int
    root: bool


def tails(total: int, shape: Shape) -> Iterator[Tail]:
    """The last page of every level of a batch of *total* items (at least 1), leaves first, the root last."""
    level, entries, per_page = 0, total, shape.leaf
    while True:
        pages = -(-entries // per_page)
        yield Tail(level, pages - 1, entries - (pages - 1) * per_page, root=pages == 1)
        if pages == 1:
            return
        level, entries, per_page = level + 1, pages, shape.fanout


def above(leaf: int, shape: Shape) -> Iterator[tuple[int, int]]:
    """The pages above a leaf as (level, number), but for the first one of each level."""
    level, number = 1, leaf // shape.fanout
    while number:
        yield level, number
        level, number = level + 1, number // shape.fanout


def height(total: int, shape: Shape) -> int:
    """The level of the root."""
    return max(tail.level for tail in tails(total, shape))


def stretches(first: int, last: int, leaf: int) -> Iterator[tuple[int, int, int]]:
    """The items *first* to *last* by leaf page: (page, first bit, last bit), in order, ends inclusive."""
    for page in range(first // leaf, last // leaf + 1):
        base = page * leaf
        yield page, max(first - base, 0), min(last - base, leaf - 1)


def capacity(level: int, number: int, total: int, shape: Shape) -> int:
    """How many of the batch's *total* items lie under page *number* of *level*."""
    width = shape.width(level)
    return max(0, min(width, total - number * width))
