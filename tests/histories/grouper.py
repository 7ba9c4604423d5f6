"""Histories of the group-batcher: leases, bundles and tasks as leaders and callers see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from fanin.grouper import Bundle, BundleKey, TaskKey
from tests.histories.grouper_spec import READS, Called, step
from tests.histories.history import UNKNOWN, Recorder, Span
from tests.histories.model import Recorded
from tests.histories.ports import record_port, unwind
from tests.simulating.network import Request
from tests.simulation_grouper import scenario
from tests.simulation_grouper.simulation import play
from tests.simulation_grouper.world import World

TASKS_MAX = 5
"""Tasks of a run, at most."""


class Noting:
    """Turns requests into operations on leases, bundles and tasks."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.ways: dict[str, Callable[..., None]] = {
            "lease": self._lease,
            "put_lease": self._put_lease,
            "bundle": self._bundle,
            "claim": self._claim,
            "seal": self._seal,
            "replace_bundle": self._replace_bundle,
            "call": self._call,
            "create": self._create,
            "task": self._task,
            "tasks": self._tasks,
            "settle": self._settle,
            "notify": self._notify,
        }

    def __call__(self, request: Request, span: Span, answer: Any) -> None:
        way = self.ways.get(request.name)
        if way is not None:

            def note(key: Any, name: str, *args: Any, answered: Any = answer) -> None:
                known = {"answer": answered, "ended": span.ended}
                if name not in READS or answered is not UNKNOWN:
                    self.recorder.note(key, request.sender, name, args, span.began, **known)

            way(note, answer, *request.args)

    def _lease(self, note: Any, answer: Any, lane: Any) -> None:
        note(lane, "lease")

    def _put_lease(self, note: Any, answer: Any, seen: Any, wanted: Any) -> None:
        note(wanted.lane, "put_lease", seen, wanted)

    def _bundle(self, note: Any, answer: Any, key: Any) -> None:
        note(key, "bundle")

    def _claim(self, note: Any, answer: Any, bundle: Bundle, joining: Any) -> None:
        note(bundle.key, "claim", bundle)
        for name in joining:
            refused = answer is not UNKNOWN and name in answer.refused
            note(TaskKey(bundle.tenant, name), "refused" if refused else "join", bundle)

    def _seal(self, note: Any, answer: Any, bundle: Bundle) -> None:
        note(bundle.key, "seal", bundle)

    def _replace_bundle(self, note: Any, answer: Any, bundle: Bundle) -> None:
        note(bundle.key, "replace_bundle", bundle)

    def _call(self, note: Any, answer: Any, call: Any) -> None:
        names = tuple(member.task_id for member in call.members)
        note(BundleKey(call.tenant, call.bundle_id), "call", call.attempt, names)

    def _create(self, note: Any, answer: Any, task: Any) -> None:
        note(task.key, "create", task)

    def _task(self, note: Any, answer: Any, key: Any) -> None:
        note(key, "task")

    def _tasks(self, note: Any, answer: Any, keys: Any) -> None:
        for key in keys if answer is not UNKNOWN else ():
            note(key, "task", answered=answer.get(key))

    def _settle(self, note: Any, answer: Any, task: Any, bundle_id: str) -> None:
        note(task.key, "settle", task, bundle_id)

    def _notify(self, note: Any, answer: Any, tasks: Any) -> None:
        for task in tasks if answer is not UNKNOWN else ():
            note(task.key, "notified", task)


def record(seed: int, lines: list[str] | None = None) -> Recorded:
    """Run a scenario of the simulator, and return the histories of its leases, bundles and tasks."""
    random, recorder = Random(seed), Recorder()
    drawn = scenario.draw(random)
    world = World(replace(drawn, tasks=drawn.tasks[:TASKS_MAX]), random, lines)
    record_port(world.network, recorder, Noting(recorder))
    outcome = play(world)
    unwind(world.loop)
    return Recorded(recorder, outcome, step, _initial, READS)


def _initial(key: object) -> Called | None:
    return Called() if isinstance(key, BundleKey) else None
