"""Counts and prices as a person reads them. Pure."""

from __future__ import annotations

CENT = 0.01


def count(value: int, one: str, many: str | None = None) -> str:
    """1 batch, 2 batches."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def price(least: float, most: float | None = None) -> str:
    """$1.20 to $3.40, or one price where both read alike; what is less than a cent never reads as nothing."""
    low, high = _dollars(least), _dollars(least if most is None else most)
    return low if low == high else f"{low} to {high}"


def _dollars(value: float) -> str:
    return "under $0.01" if 0 < value < CENT else f"${value:,.2f}"
