"""The error that stops the demo before its report."""

from __future__ import annotations


class DemoError(Exception):
    """The demo cannot start or continue; the message says why and what to do."""
