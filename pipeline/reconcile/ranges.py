"""Ranges of rows that hold the leaves with anything wanted, so that the other rows are not read. Pure."""

from __future__ import annotations

import numpy as np

from pipeline.reconcile.outstanding import Part
from pipeline.spark.bitmaps import Longs

RANGES_MAX = 16
"""The most ranges. The condition of each is evaluated for every row that is read: with 64 ranges that held
nine tenths of 10^8 rows, the job took five times the CPU of reading all."""
SHARE_MAX = 0.1
"""The most rows in several ranges, as a share: of more, their condition takes longer than it saves."""


def covering(
    pages: Longs, part: Part, most: int = RANGES_MAX, share: float = SHARE_MAX
) -> list[tuple[int, int]]:
    """Return at most *most* ranges of indexes that hold all items of *part* in the leaves *pages*.

    Each is (first, last), both inclusive; they are ascending and disjoint. The rows left out are the widest
    gaps between leaves. If the ranges hold more than *share* of the items, the one range of all leaves is
    returned.
    """
    if not pages.size:
        return []
    found = _ranges(np.unique(pages), part, most)
    held = sum(last - first + 1 for first, last in found)
    return found if held <= share * part.upto else [(found[0][0], found[-1][1])]


def _ranges(ordered: Longs, part: Part, most: int) -> list[tuple[int, int]]:
    gaps = np.diff(ordered)
    widest = np.argsort(-gaps, kind="stable")[: most - 1]
    cuts = np.sort(widest[gaps[widest] > 1])
    firsts = ordered[np.concatenate([[0], cuts + 1])] * part.page_bits - part.start
    ends = (ordered[np.concatenate([cuts, [-1]])] + 1) * part.page_bits - part.start
    lasts = np.minimum(ends, part.upto) - 1
    return list(zip(np.maximum(firsts, 0).tolist(), lasts.tolist(), strict=True))
