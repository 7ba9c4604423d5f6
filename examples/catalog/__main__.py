"""``python -m examples.catalog [--items N | --whole] [--no-chaos] [--seed S]``; 0 is PASS."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from types import FrameType

from rich.console import Console

from examples.catalog import options
from examples.catalog.errors import DemoError
from examples.catalog.output.live import view_on
from examples.catalog.stages import play
from fanin.errors import FaninError

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal ended the demo; *number* is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; return 0 if it passed, 1 if it failed, 128 plus the number of a signal that ended it."""
    given = options.parse(argv)
    for number in ENDINGS:
        signal.signal(number, _end)
    try:
        with view_on(Console()) as view:
            outcome = play(given, view)
    except (DemoError, FaninError, ValueError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except Interrupted as ended:
        print("demo: interrupted; nothing of it runs any more", file=sys.stderr)
        return 128 + ended.number
    return 0 if outcome.passed else 1


def _end(number: int, _frame: FrameType | None) -> None:
    # Ignore further signals: the shutdown must complete.
    for each in ENDINGS:
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(number)


if __name__ == "__main__":
    raise SystemExit(main())
