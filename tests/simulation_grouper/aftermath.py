"""What must hold once queues are drained and the sweeper found nothing more."""

from __future__ import annotations

from fanin.grouper import BundleKey, Task, TaskState
from fanin.grouper.rules.protocol import PART
from tests.simulating.violation import require
from tests.simulation_grouper.world import SWEEPS_MAX, World


def check(world: World) -> None:
    """Check every promise on the end of a run."""
    require(
        world.final_sweeps < SWEEPS_MAX or not world.woken, "B3", "the sweeper found something every time"
    )
    for task in world.referee.stored_tasks.values():
        _check_task(world, task)
    world.check_expired()
    for bundle in world.referee.bundles.values():
        is_over = bundle.is_void or bundle.state.ended
        require(is_over, "B8", f"a bundle is still {bundle.state} at attempt {bundle.attempt}")
    _check_indexes(world)
    if world.only_lags:
        _check_lagging(world)
    if world.calm:
        _check_calm(world)


def _check_task(world: World, task: Task) -> None:
    if world.has_expired(task):
        return
    name = task.task_id
    require(task.state.ended, "B3", f"{name} is still {task.state}")
    require(
        world.listeners.reported.get((task.key, task.created_at)) is task.state,
        "reported",
        f"{name}, {task.state}, was not reported",
    )
    poison = {wanted.task_id: wanted.poison for wanted in world.scenario.tasks}[name]
    if task.state is TaskState.SUCCEEDED:
        require(task.payload in world.api.payloads_done, "B7", f"{name} succeeded, and no call did")
        require(not poison, "B7", f"{name} is poison, and succeeded")
    elif not poison:
        require(task.state is TaskState.DEAD, "B7", f"{name} failed because of another")
        require(_used_up(world, task), "B7", f"{name} died before its attempts were used up")


def _used_up(world: World, task: Task) -> bool:
    """Whether a task that did nothing wrong had every attempt that it may have, and had them alone."""
    most = world.scenario.policy.max_attempts
    if world.api.retries[task.task_id] >= most:
        return True
    bundle = world.referee.known_bundles[BundleKey(task.tenant, task.bundle_id or "")]
    return bundle.attempt == most and len(bundle.members) == 1


def _check_indexes(world: World) -> None:
    referee = world.referee
    require(not referee.open_tasks(None).rows, "B11", "the index of open tasks is not empty")
    require(not referee.live(world.loop.at, None).rows, "B11", "the index of live bundles is not empty")


def _check_lagging(world: World) -> None:
    """B10: lagging indexes change latency only. One call a task, at the first attempt; no message returns.

    A message comes twice only while its leader is still at work: that of seed 62705 led for longer than the
    visibility timeout.
    """
    require(not world.queues.returned, "B10", "a message came back")
    for task in world.referee.stored_tasks.values():
        require(task.state is TaskState.SUCCEEDED, "B10", f"{task.task_id} is {task.state}")
        outcomes = world.api.outcomes[task.task_id]
        require(len(outcomes) == 1, "B10", f"{task.task_id} was done {len(outcomes)} times")
    attempts = {attempt for _, attempt in world.api.calls}
    require(attempts <= {1}, "B10", "a bundle was called twice")
    apart = [lane for lane in world.referee.leases if lane.shard.startswith(PART)]
    require(not apart, "B10", "a bundle was taken apart")


def _check_calm(world: World) -> None:
    """Where the indexes do not lag either: nothing is left for the sweeper."""
    require(world.final_sweeps <= 1, "calm", "the sweeper had something to do")
