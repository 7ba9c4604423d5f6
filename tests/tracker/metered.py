"""A store in memory that counts what is asked of it."""

from __future__ import annotations

from collections import Counter

from fanin.tracker import TrackerStore
from fanin.tracker.memory import MemoryStore

CALLS = {name for name, member in vars(TrackerStore).items() if callable(member) and name[0] != "_"}
"""The calls of the port."""


class Metered(MemoryStore):
    """*calls* of the port by name; *read*: the pages that were read; *groups_read*: how many groups."""

    def __init__(self):
        super().__init__()
        self.calls, self.read, self.groups_read = Counter(), [], 0

    def __getattribute__(self, name):
        if name in CALLS:
            super().__getattribute__("calls")[name] += 1
        return super().__getattribute__(name)

    def pages(self, keys, bits=True):
        self.read += keys
        return super().pages(keys, bits)

    def groups(self, *args):
        found = super().groups(*args)
        self.groups_read += len(found)
        return found

    def reset(self):
        """Count from here on."""
        self.calls.clear()
        self.read.clear()
        self.groups_read = 0
