"""Formats counts for people. Pure."""

from __future__ import annotations


def count(value: int, one: str, many: str | None = None) -> str:
    """Return *value* with its noun: 1 batch, 2 batches."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"
