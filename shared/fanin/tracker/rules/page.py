"""A page is one stored bitfield; this module has the rules for writes to it.

Bits are set and never cleared. Bit *i* of a page lies in digit ``i // 6``, a number attribute from 0 to 63.
``n`` counts the set bits, so it serves as the page's version and as its fill level. A second family of
digits marks the items that failed: its bit is set together with the first one, and removed when a later
success heals the item. In a parent page it marks the children that held failures.

A page of an estimated batch has no digits: it counts acks in ``n``, duplicates too.
"""

from __future__ import annotations

import string
from binascii import b2a_base64
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fanin.tracker.rules.model import Outcome

DIGIT_BITS = 6
DIGIT_MAX = 2**DIGIT_BITS - 1
PAGE_BITS_MAX = 1024
_BASE64 = (string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/").encode()
_VALUES = bytes.maketrans(_BASE64, bytes(range(2**DIGIT_BITS)))
"""The value of each character of base64, whose digits have 6 bits, too: it cuts a page in one call."""


@dataclass(frozen=True, slots=True)
class PageMasks:
    """The bits that a write sets in one page, as a mask for each outcome.

    An item that is in both masks has succeeded, because a success overrides a failure in either order.
    """

    success: int = 0
    failure: int = 0

    @classmethod
    def of(cls, mask: int, outcome: Outcome) -> PageMasks:
        """Return the masks in which every bit of *mask* has the one *outcome*."""
        return cls(mask) if outcome is Outcome.SUCCESS else cls(0, mask)

    @property
    def mask(self) -> int:
        """All bits, whatever their outcome."""
        return self.success | self.failure

    @property
    def failed(self) -> int:
        """The bits to mark as failed."""
        return self.failure & ~self.success

    @property
    def is_mixed(self) -> bool:
        """Whether the bits have more than one outcome."""
        return self.failed not in (0, self.mask)

    def within(self, mask: int) -> PageMasks:
        """Return the part of the masks that lies in *mask*."""
        return PageMasks(self.success & mask, self.failure & mask)


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it is stored. ``Page()`` stands for a page that is not stored.

    *failing*: whether items below a page above the leaves may have failed; see :meth:`TrackerStore.prepare`.
    """

    bits: int = 0
    n: int = 0
    size: int | None = None
    root: bool = False
    compacted: bool = False
    failed: int = 0
    failing: bool = False

    @classmethod
    def new(cls, mask: int, capacity: int) -> Page:
        """Return a page on which *mask* has succeeded and no other item is acked; a full one is compacted."""
        count = mask.bit_count()
        full = count >= capacity
        return cls(0 if full else mask, count, compacted=full)

    def is_full(self, capacity: int) -> bool:
        """Whether every item is acked: *capacity* items, or fewer if close has marked the last page.

        An estimated batch counts duplicates, so its count can exceed the capacity.
        """
        return self.n >= (capacity if self.size is None else self.size)

    @property
    def succeeded(self) -> int:
        """How many items of a leaf of an exact batch have succeeded: that only grows."""
        return self.n - self.failed.bit_count()

    def unset(self, mask: int) -> int:
        """Return the bits of *mask* that are not set; a compacted page was full, so it has none."""
        return 0 if self.compacted else mask & ~self.bits

    def admits(self, mask: int) -> bool:
        """The guard of an add: whether all of *mask* is clear, so that an addition sets the bits."""
        return not self.compacted and not self.bits & mask

    def with_bits(self, masks: PageMasks) -> Page:
        """Return the page after an admitted add."""
        bits, failed = self.bits | masks.mask, self.failed | masks.failed
        return replace(self, bits=bits, n=self.n + masks.mask.bit_count(), failed=failed)

    def replaced(self, masks: PageMasks, fills: bool) -> Page:
        """Return the page after a replacement; one that *fills* the page compacts it."""
        page = self.with_bits(masks)
        return page.compact() if fills else page

    def with_count(self, count: int) -> Page:
        """Return the page of an estimated batch after *count* more acks."""
        return replace(self, n=self.n + count)

    def is_worth(self, bit: int, failures: bool) -> bool:
        """Whether outstanding items, or with *failures* failed ones, may lie under the child *bit*."""
        full = self.compacted or self.bits >> bit & 1
        return bool(self.failed >> bit & 1) if full and failures else not full

    def prepared(self, failing: bool) -> Page:
        """Return the page after it was prepared; what it is marked with stays."""
        return replace(self, failing=self.failing or failing)

    def healed(self, mask: int) -> Page:
        """Return the page after the failures in *mask* were healed."""
        return replace(self, failed=self.failed & ~mask)

    def may_compact(self, count: int) -> bool:
        """The guard of compaction: whether the page still has *count* bits and was not compacted before."""
        return self.n == count and not self.compacted

    def compact(self) -> Page:
        """Return the page without its digits; the count of a full page implies them."""
        return replace(self, bits=0, compacted=True)


def mask_of(first: int, last: int) -> int:
    """Return the mask of the bits *first* to *last*, both inclusive."""
    return (1 << last - first + 1) - 1 << first


def lowest(mask: int) -> int:
    """Return the lowest bit that is set in *mask*, which must not be 0."""
    return (mask & -mask).bit_length() - 1


def digits(mask: int) -> Iterator[tuple[int, int]]:
    """Yield the digits of *mask* that are not 0, as (digit, value), lowest first."""
    first = lowest(mask) // DIGIT_BITS if mask else 0
    mask >>= first * DIGIT_BITS
    octets = mask.to_bytes(-(-mask.bit_length() // 24) * 3, "big")  # 3 bytes are 4 characters of base64
    values = b2a_base64(octets, newline=False).translate(_VALUES)
    return (pair for pair in enumerate(reversed(values), first) if pair[1])


def bits_of(values: Iterator[tuple[int, int]]) -> int:
    """Return the mask of some digits: the inverse of :func:`digits`."""
    return sum(value << digit * DIGIT_BITS for digit, value in values)
