"""Pages of a batch as a test lays them out, and a note of which of them are read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fanin.tracker.rules.page import Page


def filled(count, failed=0):
    """A page whose first *count* bits are set."""
    return masked((1 << count) - 1, failed)


def masked(bits, failed=0):
    """A page with these *bits*."""
    return Page(bits, bits.bit_count(), failed=failed)


@dataclass
class PageStore:
    """The *stored* pages by level and number; *read*: those asked for; *bare*: those without their bits.

    All other pages above the leaves are stored, too, as where something was acked below them.
    """

    stored: dict[tuple[int, int], Page] = field(default_factory=dict)
    read: list[tuple[int, int]] = field(default_factory=list)
    bare: list[tuple[int, int]] = field(default_factory=list)

    def pages(self, keys, bits=True):
        return self._seen(keys) if bits else self.glance(keys, bits)

    def _seen(self, keys):
        at = {key: (key.level, key.number) for key in keys}
        self.read += at.values()
        return {
            key: self.stored.get(place, Page())
            for key, place in at.items()
            if place in self.stored or key.level
        }

    def glance(self, keys, bits):
        self.bare += () if bits else ((key.level, key.number) for key in keys)
        found = self._seen(keys)
        return found if bits else {key: replace(page, bits=0) for key, page in found.items()}

    def numbers(self, level):
        """The pages of a level that were read, in order."""
        return [number for at, number in self.read if at == level]
