"""Shows the demo: steps with their times, then progress; a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from examples.catalog.output import progress
from examples.catalog.output.progress import Sample

PLAIN_SECONDS = 5.0
"""Seconds between two lines of progress."""
REASONS_SECONDS = 3.0
"""Seconds between two lines on what is awaited; they come only if its kinds change."""
MOVING = "acked"
BAR_WIDTH = 24
BESIDE = 1 + 1 + len(MOVING) + 1 + BAR_WIDTH + 1
"""Columns of a terminal before the text beside the bar: spinner, label and bar, a space after each."""


def kind_of(step: str) -> str:
    """Return the name of *step* without numbers: "deploying 3 of 90" and "deploying 4 of 90" are one step.

    So are "1 message" and "2 messages".
    """
    return re.sub(r"[\d,]*\d(?: (\w+?)s?\b)?", r"# \1", step)


class View:
    """Prints one line per step with the seconds since the start, and a line of progress at intervals."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._started = time.monotonic()
        self._kind = ""
        self._next_line = 0.0
        self._next_reasons = 0.0

    def step(self, text: str) -> None:
        """Print a step, once even if it continues with other numbers."""
        if kind_of(text) != self._kind:
            self._kind = kind_of(text)
            self.say(text)

    def say(self, text: str) -> None:
        """Print a line with the time."""
        self.show([f"{self.seconds:6.1f} s  {text}"])

    def show(self, lines: Iterable[str]) -> None:
        """Print lines unchanged."""
        for line in lines:
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def moved(self, samples: Sequence[Sample], total: int) -> None:
        """Show the progress at the last of *samples*; say what is awaited whenever it is of other kinds."""
        last = samples[-1]
        if last.awaited and last.at >= self._next_reasons:
            self._next_reasons = last.at + REASONS_SECONDS
            self.step(progress.awaited(last, total))
        self._draw(samples, total)

    def _draw(self, samples: Sequence[Sample], total: int) -> None:
        """Print a line of progress if it is time for one."""
        if samples[-1].at >= self._next_line:
            self._next_line = samples[-1].at + PLAIN_SECONDS
            self.say(progress.line(samples, total))

    @property
    def seconds(self) -> float:
        """Return the seconds since the demo began."""
        return time.monotonic() - self._started

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: no bar was drawn."""


class BarView(View):
    """Draws a bar under the lines, on a terminal."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(BAR_WIDTH),
            TextColumn("{task.fields[state]}"),
            console=console,
            transient=True,
            # Redraw seldom: the two cores are busy.
            refresh_per_second=4,
        )
        self._task: TaskID = self._bar.add_task("starting", total=None, state="")

    def step(self, text: str) -> None:
        super().step(text)
        self._bar.update(self._task, description=self._cut(text), state="")

    def _cut(self, text: str) -> str:
        """Return *text* cut to the space beside the bar."""
        room = max(len(MOVING), self.console.width - BESIDE + len(MOVING) - 1)
        return text if len(text) <= room else text[: room - 1] + "\u2026"

    def _draw(self, samples: Sequence[Sample], total: int) -> None:
        self._bar.update(
            self._task,
            description=MOVING,
            completed=samples[-1].acked,
            total=total,
            state=progress.brief(samples, total, self.console.width - BESIDE),
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


def view_on(console: Console) -> View:
    """Return the view that *console* supports."""
    return BarView(console) if console.is_terminal else View(console)
