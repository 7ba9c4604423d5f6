"""Why the demo stops before its report."""

from __future__ import annotations


class DemoError(Exception):
    """The demo cannot start or go on; the text says what was wrong and what to do about it."""
