"""Counts what a request creates, with the write that creates it: its repetition is not counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from fanin import names
from functions.invocation_metrics.measuring import count

if TYPE_CHECKING:
    from fanin.grouper import Grouper, Task
    from fanin.queue import Queue
    from fanin.queue.rules.model import Job, Rerun
    from fanin.tracker import Batch, Tracker
    from fanin.tracker.rules.model import Group, Receipt

Store = TypeVar("Store")
Count = Callable[..., Mapping[str, float]]
"""Returns the metrics of a call, from its result and its arguments."""


def counting_batches(tracker: Tracker) -> Tracker:
    """Return *tracker*, which counts the batches and the items that it creates."""
    return replace(tracker, store=_counting(tracker.store, BATCHES))


def counting_tasks(grouper: Grouper) -> Grouper:
    """Return *grouper*, which counts the tasks that it registers."""
    world = grouper.world
    return replace(grouper, world=replace(world, store=_counting(world.store, TASKS)))


def counting_jobs(queue: Queue) -> Queue:
    """Return *queue*, which counts the jobs that are added to it, and the reruns of busy ones."""
    context = queue.context
    return replace(queue, context=replace(context, store=_counting(context.store, JOBS)))


def _opened(held: str | None, batch: Batch, *_: object) -> dict[str, float]:
    return {names.BATCHES_OPENED: held == batch.batch_id}


def _reopened(held: str | None, batch: Batch, group: Group, *_: object) -> dict[str, float]:
    return _opened(held, batch) | {names.ITEMS_ADDED: group.upto if held == batch.batch_id else 0}


def _reserved(stored: Receipt | None, _: Batch, receipt: Receipt, *__: object) -> Mapping[str, float]:
    return {names.ITEMS_ADDED: receipt.count if stored is receipt else 0}


def _registered(stored: Task, task: Task) -> Mapping[str, float]:
    """A put whose answer was lost is sent again, and refused by the task that it stored."""
    return {names.TASKS_REGISTERED: stored.created_at == task.created_at and stored.asks_for_the_same(task)}


def _added(stored: Job | None, job: Job, *_: object) -> Mapping[str, float]:
    is_new = stored is not None and (stored.id, stored.added_us) == (job.id, job.added_us)
    return {names.JOBS_ADDED: is_new}


def _rerun(stored: Job | None, _: Job, rerun: Rerun) -> Mapping[str, float]:
    return {names.JOBS_ADDED: stored is not None and stored.rerun == rerun}


BATCHES: Mapping[str, Count] = {
    "create": lambda stored, batch, *_: _opened(stored and stored.batch_id, batch),
    "create_under": _opened,
    "create_reopened": _reopened,
    "reserve": _reserved,
}
TASKS: Mapping[str, Count] = {"create": _registered}
JOBS: Mapping[str, Count] = {"add": _added, "rerun": _rerun}


def _counting(store: Store, counts: Mapping[str, Count]) -> Store:
    return cast("Store", _Counting(store, counts))


@dataclass(frozen=True, slots=True)
class _Counting:
    """Forwards every call, and counts those that create."""

    store: Any
    counts: Mapping[str, Count]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # a copy or a pickle asks for names that no store has
            raise AttributeError(name)
        call, of = getattr(self.store, name), self.counts.get(name)
        if of is None:
            return call

        def counted(*args: Any) -> Any:
            result = call(*args)
            count(of(result, *args))
            return result

        return counted
