"""Choose pages of a level, one of each stretch, that stand for all pages of their cell.

Where work goes round, as with two workers or the groups of a FIFO queue, the pages of one turn can be nearly
done and those of the others not begun. Random pages then err by what chance takes of each. So a large sample
is searched for a period of pages, and each turn is weighed by its pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from random import Random

from fanin.tracker.rules.page import lowest

SAMPLE_MIN = 256
"""Pages in a sample that is searched for a period: at least four for each residue."""
PERIOD_MAX = 64
EXPLAINED = 0.5
"""The part of the variance of neighbours that may be left within the residues of a period."""
CERTAIN = 0.0025
"""A standard error of a sample that needs no period: a quarter of a point."""


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
    for served, at in enumerate(order):
        shares[at] = min(wanted[at], most // (len(wanted) - served))
        most -= shares[at]
    return shares


def spaced(parts: Sequence[Part], most: int, random: Random) -> Iterator[tuple[Part, int, int]]:
    """Yield a random page of each of *most* equal stretches of *parts*: part, number, and pages it is of."""
    ends = list(accumulate(part.pages for part in parts))
    edges = [ends[-1] * number // most for number in range(most + 1)]
    at = 0
    for low, high in pairwise(edges):
        place = low + int(random.random() * (high - low))
        while ends[at] <= place:
            at += 1
        part = parts[at]
        yield part, part.base + nth(part.mask, place - ends[at] + part.pages), high - low


def nth(mask: int, rank: int) -> int:
    """Return the set bit of *mask* that has *rank* set bits below it."""
    at, width = 0, 1 << mask.bit_length().bit_length()
    while width := width >> 1:
        below = (mask & (1 << width) - 1).bit_count()
        if rank >= below:
            rank, mask, at = rank - below, mask >> width, at + width
    return at


def period_of(numbers: Sequence[int], shares: Sequence[float]) -> int | None:
    """Return the period in which the *shares* of acked items of the pages *numbers* differ least.

    None if neighbours differ hardly more than the pages of any residue do, or too little to matter.
    """
    spread = sum((one - other) ** 2 for one, other in pairwise(shares)) / (2 * (len(shares) - 1))
    if spread <= CERTAIN**2 * len(shares):
        return None
    found = min((_within(period, numbers, shares), period) for period in range(2, PERIOD_MAX + 1))
    return found[1] if found[0] <= EXPLAINED * spread else None


def _within(period: int, numbers: Sequence[int], shares: Sequence[float]) -> float:
    """Return the variance of *shares* within the residues of *period*."""
    counts, sums = [0] * period, [0.0] * period
    for number, share in zip(numbers, shares, strict=True):
        counts[number % period] += 1
        sums[number % period] += share
    held = [(total, count) for total, count in zip(sums, counts, strict=True) if count]
    squares = sum(share * share for share in shares) - sum(total * total / count for total, count in held)
    return squares / (len(shares) - len(held))


def weights_of(
    period: int, parts: Sequence[Part], numbers: Sequence[int], weights: Sequence[float]
) -> list[float]:
    """Return the *weights* of the pages *numbers*, changed so that each residue weighs its pages in *parts*.

    What a residue has of which no page was read is spread over the others.
    """
    wanted, held = _pages(period, parts), [0.0] * period
    for number, weight in zip(numbers, weights, strict=True):
        held[number % period] += weight
    known = sum(pages for pages, weight in zip(wanted, held, strict=True) if weight)
    scale = sum(wanted) / known
    return [
        weight * wanted[number % period] / held[number % period] * scale
        for number, weight in zip(numbers, weights, strict=True)
    ]


def _pages(period: int, parts: Sequence[Part]) -> list[float]:
    """Return how many pages of *parts* have each residue."""
    width = max(part.mask.bit_length() for part in parts)
    every = [sum(1 << bit for bit in range(residue, width, period)) for residue in range(period)]
    found = [0.0] * period
    for part in parts:
        for residue in range(period):
            mask = part.mask & every[(residue - part.base) % period]
            found[residue] += part.weight * mask.bit_count()
    return found
