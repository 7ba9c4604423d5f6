"""The error of a local run."""

from __future__ import annotations

from fanin.errors import FaninError


class LocalRunError(FaninError):
    """The local run cannot start or continue; the text says what to do."""
