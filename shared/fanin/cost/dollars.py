"""Prices as texts. Pure."""

from __future__ import annotations

CENT = 0.01


def price(least: float, most: float | None = None) -> str:
    """Return $1.20 to $3.40, or one price if both print alike; a price below a cent never prints as zero."""
    low, high = _dollars(least), _dollars(least if most is None else most)
    return low if low == high else f"{low} to {high}"


def _dollars(value: float) -> str:
    return "under $0.01" if 0 < value < CENT else f"${value:,.2f}"
