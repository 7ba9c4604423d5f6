"""How a command of a proof ends: with its code, or after Ctrl-C with a line and code 130."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

INTERRUPTED = 130


def ended(main: Callable[[], int]) -> NoReturn:
    """Run a command that does not go on where it was interrupted, and exit."""
    try:
        code = main()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing was kept\n")
        code = INTERRUPTED
    sys.exit(code)
