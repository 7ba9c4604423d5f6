"""Watches the parent process, so that a child exits with it on any Unix, even after SIGKILL."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

CHECK_SECONDS = 0.5


def follow(parent: int, then: Callable[[], None]) -> None:
    """Call *then* in a thread when this process is no longer a child of *parent*, a pid."""
    threading.Thread(target=_watch, args=(parent, then), daemon=True).start()


def _watch(parent: int, then: Callable[[], None]) -> None:
    while os.getppid() == parent:
        time.sleep(CHECK_SECONDS)
    then()
