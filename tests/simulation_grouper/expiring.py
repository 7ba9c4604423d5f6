"""Tasks and bundles expire, and ids come again: time to live deletes early, late or never."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from fanin.errors import KeyReused
from fanin.grouper import BundleKey, Task, TaskState, Timing
from tests.simulating.expiry import TimeToLive
from tests.simulating.violation import require
from tests.simulation_grouper.scenario import START, Scenario, Wanted
from tests.simulation_grouper.world import World

ENDED = (60, 120)
PENDING = (120, 14 * 86_400)
"""Seconds for which tasks are kept: longer than clocks are apart, or copies of a request under way."""
LATEST = timedelta(seconds=20)
SKEW = 8.0
"""Seconds by which clocks are wrong at most: shorter than tasks are kept."""
USES = 3


class Expiring(World):
    """Each id is used again for another task; a use before the expiry is refused."""

    def __init__(self, scenario: Scenario, random: Random, lines: list[str] | None) -> None:
        self.kept = Timing(
            pending=timedelta(seconds=random.choice(PENDING)), ended=timedelta(seconds=random.choice(ENDED))
        )
        super().__init__(replace(scenario, skew=min(scenario.skew, SKEW)), random, lines)
        self.table = TimeToLive.draw(random, ahead=1.0, late=120.0)
        self._stalled_at: dict[int, Any] = {}
        for task in scenario.tasks:
            for use in range(1, USES):
                at = START + task.at + use * timedelta(seconds=random.uniform(20, 200))
                self._arrivals.append((at, replace(task, use=use), 0))

    @property
    def only_lags(self) -> bool:
        return False

    def _register(self, wanted: Wanted, failures: int) -> None:
        with suppress(KeyReused):
            super()._register(wanted, failures)
            self.events["came again"] += bool(wanted.use)
            return
        self.events["came too early"] += 1

    def _jump(self) -> bool:
        if self.network.stalled:
            self.network.land(0)
            return True
        return super()._jump()

    def _let_expire(self) -> None:
        """Land copies while they are good, then delete what the table's time to live says."""
        self._land_in_time()
        referee, now = self.referee, (self.loop.at - START).total_seconds()
        rows: dict[Any, Any] = dict(referee.stored_tasks)
        if not self.network.stalled:
            rows |= referee.bundles
        expiring = {key: (row.expires_at - START).total_seconds() for key, row in rows.items()}
        for key in self.table.due(expiring, now):
            self.events["rows deleted"] += 1
            if key in referee.stored_tasks:
                referee.delete_task(key)
            else:
                referee.delete_bundle(key)

    def _land_in_time(self) -> None:
        stalled = self.network.stalled
        self._stalled_at = {id(copy): self._stalled_at.get(id(copy), self.loop.at) for copy in stalled}
        late = [copy for copy in stalled if self.loop.at - self._stalled_at[id(copy)] > LATEST]
        for copy in late:
            self.network.land(next(place for place, one in enumerate(stalled) if one is copy))

    def has_expired(self, task: Task) -> bool:
        """Return whether the task, or the bundle that ends and reports it, has expired on some clock."""
        at = self.loop.at + timedelta(seconds=2 * self.scenario.skew + 2)
        bundle = self.referee.known_bundles.get(BundleKey(task.tenant, task.bundle_id or ""))
        return task.expired(at) or (bundle is not None and bundle.expires_at <= at)

    def check_expired(self) -> None:
        """Every task that was taken in ended, unless it expired before."""
        for (key, _), task in self.referee.seen_tasks.items():
            require(task.state.ended or self.has_expired(task), "B3", f"{key.task_id} is still {task.state}")
            if task.state is TaskState.SUCCEEDED:
                called = task.payload in self.api.payloads_done
                require(called, "B7", f"{key.task_id} succeeded, and no call was made for it")
