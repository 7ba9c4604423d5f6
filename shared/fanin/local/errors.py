"""What can go wrong with a local run."""

from __future__ import annotations

from fanin.errors import FaninError


class LocalRunError(FaninError):
    """The local run cannot start or go on; the text says what to do about it."""
