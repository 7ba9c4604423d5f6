"""The response bodies of the group-batcher's routes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Self

from fanin.api.answers.batch_answers import Answer, Instant, Optional
from fanin.api.cursors import list_cursors as cursors
from fanin.api.cursors import target_cursors
from fanin.api.problems import Problem, problem
from fanin.errors import FaninError
from fanin.grouper import (
    Bundle,
    BundleState,
    NewTask,
    Outcome,
    Page,
    Status,
    Task,
    TaskState,
    Verdict,
)
from fanin.grouper.listing import Listed
from fanin.grouper.targets import TargetView


class RegisteredTask(Answer):
    """A registered task."""

    task_id: str
    state: TaskState

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls.like(task)


class TaskResult(Answer):
    """The result of one of several tasks: its state, or why it is not registered.

    *problem*: the status of a request of this task alone, its kind and its detail; after 503 repeat the task.
    """

    task_id: str | None = Optional
    state: TaskState | None = Optional
    problem: Problem | None = Optional

    @classmethod
    def of(cls, new_task: NewTask, result: Task | FaninError) -> Self:
        if isinstance(result, Task):
            return cls.like(result)
        return cls(task_id=new_task.task_id, problem=problem(result))


class RegisteredTasks(Answer):
    """The results of several tasks, in the order of the request."""

    results: list[TaskResult]

    @classmethod
    def of(cls, new_tasks: Sequence[NewTask], results: Sequence[Task | FaninError]) -> Self:
        pairs = zip(new_tasks, results, strict=True)
        return cls(results=[TaskResult.of(new_task, result) for new_task, result in pairs])


class TaskAnswer(Answer):
    """A task. *reason*: why it failed, or why it was last retried."""

    task_id: str
    target: str
    state: Status
    priority: int
    attempts: int
    bundle_id: str | None = Optional
    item_id: str | None = Optional
    reason: str | None = Optional
    created_at: Instant
    due_at: Instant
    expires_at: Instant

    @classmethod
    def of(cls, task: Task, status: Status) -> Self:
        return cls.like(task, state=status, reason=task.detail or None)


class ListedTask(Answer):
    """A task in a list. *reason*: why it failed, or why it was last retried."""

    task_id: str
    state: Status
    due_at: Instant
    bundle_id: str | None = Optional
    reason: str | None = Optional

    @classmethod
    def of(cls, task: Listed) -> Self:
        return cls.like(task, state=task.status, reason=task.detail or None)


class ListedTasks(Answer):
    """Tasks of a target in one state, and the cursor of the next page; a page may be short or empty."""

    tasks: list[ListedTask]
    cursor: str | None = Optional

    @classmethod
    def of(cls, found: Sequence[Listed], cursor: str | None) -> Self:
        return cls(tasks=[ListedTask.of(each) for each in found], cursor=cursor)


class TargetAnswer(Answer):
    """A target. *pattern*: of the policy that applies to it; absent for the default policy.

    *waiting*: tasks that wait for a bundle, and more than these if *waitingMore*. *inFlight*: those of its
    newest bundles that have not ended. *nextWindowAt*: when the next bundle is filled at the latest.
    *nextCallAt*: when the rate of the target allows the next call. *rate*: calls a second; absent without a
    limit. *leaders*: how many are filling bundles, and *leaseUntil*: when the last of their leases ends.
    """

    target: str
    pattern: str | None = Optional
    shards: int
    waiting: int
    waiting_more: bool
    in_flight: int
    next_window_at: Instant | None = Optional
    next_call_at: Instant | None = Optional
    rate: float | None = Optional
    leaders: int
    lease_until: Instant | None = Optional


class ListedTargets(Answer):
    """Targets by name, and the cursor of the next page; eventually consistent."""

    targets: list[TargetAnswer]
    cursor: str | None = Optional

    @classmethod
    def of(cls, page: Page[TargetView]) -> Self:
        rows = [TargetAnswer.like(each) for each in page.rows]
        return cls(targets=rows, cursor=target_cursors.of_target(page.cursor))


class BundleSummary(Answer):
    """A bundle in a list. *attempt*: the number of calls that were started for it."""

    bundle_id: str
    target: str
    state: BundleState
    size: int
    attempt: int
    created_at: Instant
    expires_at: Instant

    @classmethod
    def of(cls, bundle: Bundle, **more: Any) -> Self:
        """Return the summary of *bundle*; *more*: fields of a subclass."""
        return cls.like(bundle, target=bundle.lane.target, size=len(bundle.members), **more)


class MemberVerdict(StrEnum):
    """The verdict on a member: `ok`, `retry`, `fail` of the batch API; `apart`, `exhausted` of the bundle."""

    OK = Verdict.OK
    RETRY = Verdict.RETRY
    FAIL = Verdict.FAIL
    APART = Verdict.APART
    EXHAUSTED = Verdict.EXHAUSTED


class MemberAnswer(Answer):
    """A member of a bundle, with its verdict once the outcome is stored."""

    task_id: str
    verdict: MemberVerdict | None = Optional
    reason: str | None = Optional

    @classmethod
    def of(cls, task_id: str, outcome: Outcome | None) -> Self:
        if outcome is None:
            return cls(task_id=task_id)
        verdict = MemberVerdict(outcome.verdict)
        return cls(task_id=task_id, verdict=verdict, reason=outcome.detail or None)


class BundleAnswer(BundleSummary):
    """A bundle and its members."""

    members: list[MemberAnswer]

    @classmethod
    def with_members(cls, bundle: Bundle) -> Self:
        outcomes = dict(zip(bundle.members, bundle.outcomes, strict=False))
        members = [MemberAnswer.of(member, outcomes.get(member)) for member in bundle.members]
        return cls.of(bundle, members=members)


class ListedBundles(Answer):
    """Bundles of a target, shard by shard, the newest first, and the cursor of the next page."""

    bundles: list[BundleSummary]
    cursor: str | None = Optional

    @classmethod
    def of(cls, bundles: Sequence[Bundle], resume: cursors.Term | None) -> Self:
        return cls(bundles=[BundleSummary.of(bundle) for bundle in bundles], cursor=cursors.of_term(resume))
