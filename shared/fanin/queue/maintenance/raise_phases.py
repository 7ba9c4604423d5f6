"""Raises the number of parts of a queue while it works.

A job's part follows from its key and the number of parts, so a raise moves keys from an old part to a new
one. It goes through phases, and each process knows the phase from a config that is at most 60 s old. Phases
that follow each other can be mixed without harm; a settle time between them keeps others from being mixed.

``steady``     adds store jobs at the one part of their key
``preparing``  adds store jobs at the old part, on condition that the new one has no job of the key
``draining``   adds store jobs at the new part, on condition that the old one has none; live jobs are moved
``expiring``   the same; the old parts hold none but marks, which hold for an hour

Two adds of one key meet in a row that both write, or one checks in its transaction what the other writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fanin.queue.context import QueueContext
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.keys import JobKey, job_key
from fanin.queue.rules.model import MARK_SECONDS, SECOND_US, Job, JobState, Ring

SETTLE_SECONDS = 1800
"""A process uses a config for 60 s, sends a request of it for 130 s more (a read and four attempts of 24 s,
and pauses), and a copy can land while its signature is valid, for 900 s. That leaves 700 s for clock skew and
for processes that stand still before they send."""
EXPIRE_SECONDS = MARK_SECONDS + 60
PAGE_ROWS = 1000
PAGES = 10
"""Rows of a page, and pages of the old parts, that one sweep reads."""


def advance(context: QueueContext) -> None:
    """Carry a raise on, once its phase has lasted long enough; several sweeps may do so at once."""
    config = context.read_config()
    if config is None or config.phase is Phase.STEADY:
        return
    now = context.effects.now()
    if config.since_us is None:
        # The time of a phase begins when it is seen: the request that stored it can have been delayed.
        _store(context, replace(config, since_us=now))
    elif now - config.since_us >= _seconds(config.phase) * SECOND_US:
        after = _after(context, config)
        if after != config:
            _store(context, after)


def _store(context: QueueContext, config: QueueConfig) -> None:
    """Store a change over the config from which it was derived, unless another one is stored."""
    context.write_config(replace(config, revision=config.revision + 1))


def _seconds(phase: Phase) -> float:
    return EXPIRE_SECONDS if phase is Phase.EXPIRING else SETTLE_SECONDS


def _after(context: QueueContext, config: QueueConfig) -> QueueConfig:
    """Do the work of a phase that has settled; return the config of the next one, or *config* itself."""
    if config.phase is Phase.PREPARING:
        return replace(config, phase=Phase.DRAINING, since_us=None)
    if config.phase is Phase.DRAINING:
        return _drained(context, config)
    return replace(config, phase=Phase.STEADY, since_us=None, before=None)


def _drained(context: QueueContext, config: QueueConfig) -> QueueConfig:
    """Move the live jobs of some rows of the old parts; return the config of as many as hold none any more.

    An old part gets no new live job, so a row that held none is not read again.
    """
    drain = Drain(context, config)
    for _ in range(PAGES):
        if drain.is_over():
            break
        drain.read_page()
    if drain.is_over() and drain.stuck is None:
        return replace(config, phase=Phase.EXPIRING, since_us=None, cursor="")
    return replace(config, cursor=drain.stuck or drain.cursor)


@dataclass(slots=True)
class Drain:
    """One sweep of the old parts; *cursor*: the last row read; *stuck*: the one before the first live job."""

    context: QueueContext
    config: QueueConfig
    cursor: str = ""
    stuck: str | None = None

    def __post_init__(self) -> None:
        self.cursor = self.config.cursor or _cursor(0, "")

    def is_over(self) -> bool:
        """Return whether all rows of all old parts were read."""
        return _position(self.cursor)[0] >= (self.config.before or 0)

    def read_page(self) -> None:
        """Read a page of rows, and move those of them that wait in a part that is not theirs any more."""
        number, after = _position(self.cursor)
        jobs, last = self.context.store.page(self.context.part(number), after, PAGE_ROWS)
        misplaced = [job for job in jobs if job.is_live and self._row(job) != job.key]
        moved = self.context.effects.each(self._move, misplaced)
        self.context.ring([Ring(row.part.number) for row in moved if row is not None])
        unmoved = {job.key for job, row in zip(misplaced, moved, strict=True) if row is None}
        if unmoved and self.stuck is None:
            self.stuck = _cursor(number, _before_first(jobs, unmoved, after))
        self.cursor = _cursor(number, last) if last is not None else _cursor(number + 1, "")

    def _row(self, job: Job) -> JobKey:
        return job_key(self.context.key, self.config.parts, job.name)

    def _move(self, job: Job) -> JobKey | None:
        """Move a waiting job, and return its new row; None for a busy one, and where a row changed."""
        if job.state is JobState.BUSY:
            return None
        row, store, effects = self._row(job), self.context.store, self.context.effects
        over, at = store.get(row), effects.now()
        moved = lifecycle.moved(job, row, over)
        return row if effects.answer_of(lambda: store.move(job, moved, over, at)) else None


def _cursor(part: int, sort: str) -> str:
    return f"{part:04x}#{sort}"


def _position(cursor: str) -> tuple[int, str]:
    number, _, sort = cursor.partition("#")
    return int(number, 16), sort


def _before_first(jobs: Sequence[Job], unmoved: set[JobKey], after: str) -> str:
    """Return the sort key of the row before the first one of *unmoved*, or *after*."""
    for job in jobs:
        if job.key in unmoved:
            break
        after = job.key.sort
    return after
