"""A page: one stored bitfield, and the rules of what may be written to it.

Bits are only ever set. Bit *i* of a page lies in digit ``i // 6``, an attribute of its own with a value
from 0 to 63; ``n`` counts the set bits, so it is the page's version and its fullness at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

DIGIT_BITS = 6
DIGIT_MAX = 2**DIGIT_BITS - 1


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it is stored; a page that is not stored is ``Page()``."""

    bits: int = 0
    n: int = 0
    size: int | None = None
    root: bool = False
    compacted: bool = False

    def is_full(self, page_bits: int) -> bool:
        """Every item is acked: *page_bits* of them, or fewer where close has marked the last page."""
        return self.n == (page_bits if self.size is None else self.size)

    def unset(self, mask: int) -> int:
        """The part of *mask* that is still to be set; none of it on a compacted page, which was full."""
        return 0 if self.compacted else mask & ~self.bits

    def admits(self, mask: int) -> bool:
        """The guard of an add: all of *mask* is clear, so that adding it is setting it."""
        return not self.compacted and not self.bits & mask

    def with_bits(self, mask: int) -> Page:
        """The page after an admitted add."""
        return replace(self, bits=self.bits | mask, n=self.n + mask.bit_count())

    def may_compact(self, count: int) -> bool:
        """The guard of compaction: the page is full at *count* bits, and was not compacted before."""
        return self.n == count and not self.compacted

    def compact(self) -> Page:
        """The page without its digits; that it was full is all that is left to know."""
        return replace(self, bits=0, compacted=True)


def mask_of(first: int, last: int) -> int:
    """The bits *first* to *last*, both inclusive."""
    return (1 << last - first + 1) - 1 << first


def digits(mask: int) -> Iterator[tuple[int, int]]:
    """The digits of *mask* that have any bit set, as (digit, value), lowest first."""
    while mask:
        digit = ((mask & -mask).bit_length() - 1) // DIGIT_BITS
        value = mask >> digit * DIGIT_BITS & DIGIT_MAX
        yield digit, value
        mask &= ~(value << digit * DIGIT_BITS)


def bits_of(values: Iterator[tuple[int, int]]) -> int:
    """The inverse of :func:`digits`."""
    return sum(value << digit * DIGIT_BITS for digit, value in values)
