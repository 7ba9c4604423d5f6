"""The results of items: what an ack brings, and what the end of their batch fixes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What the work of an item returned: *text* is one line of JSON."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The parts of an ended batch that count: those before it was written, under its *name* in the store.

    *parts*: their number. *size*: their bytes. A result that came twice is in two parts.
    """

    name: str
    parts: int
    size: int
