"""Choose pages of a level, evenly spaced, that stand for all pages of their cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from fanin.tracker.page import lowest


@dataclass(frozen=True, slots=True)
class Part:
    """Pages of a level that lie in one *cell*: those of *mask*, whose bit 0 is the page number *base*.

    Each stands for *weight* pages, itself among them. *items*: how many items lie under all of them.
    """

    cell: int
    base: int
    mask: int
    weight: float
    items: int

    @property
    def pages(self) -> int:
        return self.mask.bit_count()

    @property
    def numbers(self) -> Iterator[int]:
        """The numbers of the pages, in order."""
        mask = self.mask
        while mask:
            yield self.base + lowest(mask)
            mask &= mask - 1


def fair_shares(wanted: Sequence[int], most: int) -> list[int]:
    """Divide *most* among those that have *wanted* so much each, at least 1.

    No share is larger than what was wanted; the rest of a small one goes to the others.
    """
    shares = [0] * len(wanted)
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for done, at in enumerate(order):
        shares[at] = min(wanted[at], most // (len(wanted) - done))
        most -= shares[at]
    return shares


def spaced(parts: Sequence[Part], most: int) -> Iterator[tuple[Part, int]]:
    """Yield *most* pages of *parts*, evenly spaced over all of them, each with its part."""
    ends = list(accumulate(part.pages for part in parts))
    step, at = ends[-1] / most, 0
    for number in range(most):
        place = int((number + 0.5) * step)
        while ends[at] <= place:
            at += 1
        part = parts[at]
        yield part, part.base + nth(part.mask, place - ends[at] + part.pages)


def nth(mask: int, rank: int) -> int:
    """Return the set bit of *mask* that has *rank* set bits below it."""
    at, width = 0, 1 << mask.bit_length().bit_length()
    while width := width >> 1:
        below = (mask & (1 << width) - 1).bit_count()
        if rank >= below:
            rank, mask, at = rank - below, mask >> width, at + width
    return at
