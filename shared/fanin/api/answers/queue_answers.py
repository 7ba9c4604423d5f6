"""The responses of the routes that administer work queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Self

from fanin.api.answers.batch_answers import Answer, Instant, Optional
from fanin.api.answers.job_answers import QueueFacts
from fanin.api.cursors import queue_cursors
from fanin.instants import instant
from fanin.queue import Depth
from fanin.queue.administration.changing import Deletion, Revival, RevivedJobs
from fanin.queue.administration.describing import Activity, QueueStatus
from fanin.queue.administration.paging import Record
from fanin.queue.rules.model import SECOND_US, Accuracy, Member
from fanin.queue.rules.row_texts import dead_id_of


class DepthAnswer(Answer):
    """The number of jobs in each state; *accuracy*: how the least accurate of them was found."""

    queued: int
    in_progress: int
    delayed: int
    dead: int
    accuracy: Accuracy

    @classmethod
    def of(cls, depth: Depth) -> Self:
        return cls(
            queued=depth.ready,
            in_progress=depth.busy,
            delayed=depth.delayed,
            dead=depth.dead,
            accuracy=depth.accuracy,
        )


class QueueStatusAnswer(QueueFacts):
    """A work queue. *oldestSeconds*: how long the oldest queued job has waited.

    *countedAt*: when *depth* and *oldestSeconds* were found: in a list by the last sweep, else by this
    request.
    """

    activity: Activity
    doorbell_url: str | None = Optional
    depth: DepthAnswer
    oldest_seconds: float
    counted_at: Instant

    @classmethod
    def of(cls, status: QueueStatus) -> Self:
        return cls.of_config(
            status.name,
            status.config,
            activity=status.activity,
            doorbell_url=status.config.doorbell,
            depth=DepthAnswer.of(status.depth),
            oldest_seconds=status.depth.oldest_us / SECOND_US,
            counted_at=instant(status.counted_us),
        )


class ListedQueues(Answer):
    """Work queues in the order of their names, and the cursor of the next page."""

    queues: list[QueueStatusAnswer]
    cursor: str | None = Optional

    @classmethod
    def of(cls, found: Sequence[QueueStatus], last: str | None) -> Self:
        queues = [QueueStatusAnswer.of(status) for status in found]
        return cls(queues=queues, cursor=queue_cursors.of_name(last))


class SessionKind(StrEnum):
    """What has a session: a worker with heartbeats, or one invocation of a Lambda function."""

    WORKER = "worker"
    FUNCTION = "function"


class SessionAnswer(Answer):
    """A session; *live*: False once it was ended."""

    id: str
    kind: SessionKind
    live: bool
    host: str
    pid: int
    started_at: Instant
    heartbeats: int

    @classmethod
    def of(cls, member: Member) -> Self:
        kind = SessionKind.WORKER if member.beats else SessionKind.FUNCTION
        return cls.like(member, kind=kind, started_at=instant(member.started_us))


class ListedSessions(Answer):
    """Sessions in the order of their ids, and the cursor of the next page."""

    sessions: list[SessionAnswer]
    cursor: str | None = Optional

    @classmethod
    def of(cls, members: Sequence[Member], limit: int) -> Self:
        """Return the first *limit* of *members*, which are more if there is a next page."""
        page = [SessionAnswer.of(member) for member in members[:limit]]
        last = page[-1].id if len(members) > limit else None
        return cls(sessions=page, cursor=queue_cursors.of_name(last))


class NotRevived(Answer):
    """A dead job that stays dead, or that is gone."""

    dead_id: str
    reason: Revival


class RevivedAnswer(Answer):
    """How many dead jobs were revived, and which were not. *cursor*: of the next request for all, if any."""

    revived: int
    not_revived: list[NotRevived]
    cursor: str | None = Optional

    @classmethod
    def of(cls, result: RevivedJobs) -> Self:
        not_revived = {
            record: each for record, each in result.outcomes.items() if each is not Revival.REVIVED
        }
        return cls(
            revived=len(result.outcomes) - len(not_revived),
            not_revived=[
                NotRevived(dead_id=dead_id_of(record), reason=each) for record, each in not_revived.items()
            ],
            cursor=queue_cursors.of_row(result.last),
        )


class DeletedJob(Answer):
    """The outcome for a key of the request."""

    key: str
    outcome: Deletion


class DeletedDead(Answer):
    """The outcome for a dead job of the request."""

    dead_id: str
    outcome: Deletion


class DeletedJobs(Answer):
    """The outcome for each job of the request."""

    jobs: list[DeletedJob]
    dead: list[DeletedDead]

    @classmethod
    def of(cls, jobs: Mapping[str, Deletion], dead: Mapping[Record, Deletion]) -> Self:
        return cls(
            jobs=[DeletedJob(key=key, outcome=outcome) for key, outcome in jobs.items()],
            dead=[
                DeletedDead(dead_id=dead_id_of(record), outcome=outcome) for record, outcome in dead.items()
            ],
        )
