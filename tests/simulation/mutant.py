"""A rule of the protocol, and how to live without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch


@dataclass(frozen=True, slots=True)
class Mutant:
    """*rule* says what is left out; *owner*'s attribute *name* is *broken* while the mutant lives.

    *since*: the seed to begin with, for a rule whose loss shows seldom.
    """

    rule: str
    owner: Any
    name: str
    broken: Any
    since: int = 0

    @contextmanager
    def alive(self) -> Iterator[None]:
        with patch.object(self.owner, self.name, self.broken):
            yield
