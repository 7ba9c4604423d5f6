"""Deliveries of which some come twice. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
SHARE = 0.05


def with_duplicates(messages: Sequence[T], random: Random, share: float = SHARE) -> list[tuple[T, bool]]:
    """Return *messages* in their order, and copies of a *share* of them at random later places.

    The flag says whether it is a copy. A copy of the last message comes at the end.
    """
    count = len(messages)
    chosen = random.sample(range(count), round(count * share))
    places: list[tuple[float, int, bool]] = [(float(index), index, False) for index in range(count)]
    places += [(random.randint(index, count - 1) + 0.5, index, True) for index in chosen]
    return [(messages[index], is_copy) for _, index, is_copy in sorted(places)]
