"""Checks that a key has one live job over all parts, and that a moved job is the same one."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fanin.queue.rules.model import Job, JobState
from tests.simulating.violation import require
from tests.simulation_queue.referee import WRITES, Referee, named


class PartsReferee(Referee):
    """The referee of a queue whose parts are raised."""

    def apply(self, name: str, args: tuple[Any, ...], now: int) -> Any:
        answer = super().apply(name, args, now)
        if name in WRITES:
            live = Counter(key.sort for key, job in self.store.stored.items() if job.is_live)
            twice = [sort for sort, jobs in live.items() if jobs > 1]
            require(not twice, "Q1", lambda: f"{name} made a second live job of {twice}: {args}")
        return answer

    def _judge(self, name: str, args: tuple[Any, ...], old: Job | None, new: Job | None) -> None:
        if name == "move":
            self._moved(args[0], old, new)
        else:
            super()._judge(name, args, old, new)

    def _moved(self, seen: Job, old: Job | None, new: Job | None) -> None:
        require(new is not None, "Q8", lambda: f"a move deleted {old}")
        if not new.is_live:
            require(old == seen and old.state is not JobState.BUSY, "Q3", lambda: f"a move ended {old}")
            return
        require(old is None or not old.is_live, "Q1", lambda: f"a move put {new} over {old}")
        require(new.position == self.records[named(new)].position, "Q7", lambda: f"{new} was moved in order")
        require((new.payload, new.rerun) == (seen.payload, seen.rerun), "Q8", lambda: f"{new} is not {seen}")
        self._count(new)
