"""The version of the installed package."""

from __future__ import annotations

import sys


def print_version() -> None:
    """Print the version of the installed package."""
    from importlib import metadata  # noqa: PLC0415  # it takes 0.05 s, which completion saves

    sys.stdout.write(f"fanin {metadata.version('fanin')}\n")
