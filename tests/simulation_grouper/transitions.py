"""What a write of a bundle may change, by the request that makes it: B4, B5, B8 and what was reported."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from fanin.grouper import Bundle, BundleState, Task, TaskKey, TaskState
from tests.simulating.violation import require

OPEN, READY, CALLING = BundleState.OPEN, BundleState.READY, BundleState.CALLING
APPLYING, BUNDLE_DONE, FAILED = BundleState.APPLYING, BundleState.DONE, BundleState.FAILED
Transition = tuple[BundleState | None, BundleState]

CLAIMS: Collection[Transition] = {(None, OPEN), (OPEN, OPEN)}
SEALS: Collection[Transition] = {(None, READY), (OPEN, READY)}
REPLACEMENTS: Collection[Transition] = {
    (READY, CALLING),
    (READY, APPLYING),
    (CALLING, CALLING),
    (CALLING, READY),
    (CALLING, APPLYING),
    (APPLYING, BUNDLE_DONE),
    (APPLYING, FAILED),
}
BY_REQUEST: Mapping[str, Collection[Transition]] = {"seal": SEALS, "replace_bundle": REPLACEMENTS}
"""The transitions of each request; others than these claim."""
BUNDLE_TRANSITIONS = {(old, new) for old, new in (*CLAIMS, *SEALS, *REPLACEMENTS) if old is not None}
TASK_TRANSITIONS = {(TaskState.CREATED, TaskState.BUNDLED)} | {
    (TaskState.BUNDLED, to) for to in TaskState if to is not TaskState.BUNDLED
}
"""The arrows of the two diagrams."""


def check_transition(request: str, old: Bundle | None, new: Bundle) -> None:
    """B5: each request goes along its own arrows of the diagram; only a seal makes a void bundle."""
    step = (old.state if old else None, new.state)
    require(
        step in BY_REQUEST.get(request, CLAIMS), "B5", f"{request} took a bundle from {step[0]} to {step[1]}"
    )
    void = old is None and new.state is READY
    require(new.is_void == (void or bool(old and old.is_void)), "B2", f"{request} left {new.members}")


def check_attempt(old: Bundle, new: Bundle, at: datetime, most: int) -> None:
    """B4: a call is one more attempt, none is early or given up early. *at*: by the fastest clock."""
    called = new.state is CALLING
    require(new.attempt == old.attempt + called, "B4", f"attempt {new.attempt} follows {old.attempt}")
    if old.state is READY and old.not_before is not None:
        require(at >= old.not_before, "B4", "a bundle was called before its backoff was over")
    if old.state is READY and new.state is APPLYING:
        require(old.attempt >= most, "B4", f"a bundle was given up after {old.attempt} of {most} attempts")


def check_applied(
    bundle: Bundle, tasks: Mapping[TaskKey, Task], reported: Mapping[tuple[TaskKey, datetime], TaskState]
) -> None:
    """B8: a bundle ends once the outcome of each member is applied, and each ending is reported."""
    for name in bundle.members:
        task = tasks.get(TaskKey(bundle.tenant, name))
        if task is None or task.bundle_id != bundle.bundle_id:
            continue
        require(task.state is not TaskState.BUNDLED, "B8", f"{name} is left in a bundle that ended")
        last = reported.get((task.key, task.created_at))
        require(last is task.state, "reported", f"a bundle ended before {name}, {task.state}, was reported")
