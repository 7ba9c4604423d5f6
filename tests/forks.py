"""Real forks in a test: each child does its work and reports, and none of them outlives the test."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable

CHILD_SECONDS = 60
"""After so long a child that hangs is ended, and counts as failed."""


def forked(work: Callable[[], object]) -> int:
    """Start *work* in a child of this process; its process id. An exception is a status other than 0."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        signal.alarm(CHILD_SECONDS)
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def status_of(child: int) -> int:
    """The exit status of *child* once it has ended, negative where a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
