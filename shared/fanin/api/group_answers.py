"""The response bodies of the group-batcher's routes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Self

from fanin.api import cursors
from fanin.api.answers import Answer, Instant, Optional
from fanin.grouper import Bundle, BundleState, Candidate, Outcome, Status, Task, TaskState, Verdict


class RegisteredTask(Answer):
    """A registered task."""

    task_id: str
    state: TaskState

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls.like(task)


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


class OpenTask(Answer):
    """A task that waits for a bundle."""

    task_id: str
    due_at: Instant


class OpenTasks(Answer):
    """Tasks of a target that wait for a bundle, by priority, then due time; eventually consistent."""

    tasks: list[OpenTask]

    @classmethod
    def of(cls, found: Sequence[Candidate]) -> Self:
        return cls(tasks=[OpenTask.like(each) for each in found])


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
