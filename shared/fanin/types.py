"""Types of arguments and answers, for annotations: type checkers refuse any other text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from fanin.arguments import Seconds

__all__ = [
    "BundleStateText",
    "ConditionText",
    "EndingDetail",
    "JobStateText",
    "ListedStateText",
    "ModeText",
    "NotifyAtText",
    "OnBusyText",
    "OnFailuresText",
    "ParentFailsOnText",
    "ReopenItemsText",
    "ResultText",
    "Returned",
    "Seconds",
    "StateText",
    "TaskStateText",
]

ModeText = Literal["exact", "estimated"]
StateText = Literal["OPEN", "CLOSED", "COMPLETE", "FAILED", "CANCELLED", "TIMED_OUT"]
"""The states of batches that are listed."""
ConditionText = Literal["live", "problems", "endedBadly"]
"""What a list of batches looks for beyond one state."""
ResultText = Literal[
    "succeeded",
    "completed_with_failures",
    "enough",
    "too_many_failures",
    "forced",
    "cancelled",
    "timed_out",
    "expired",
]
"""How a batch ended."""
ParentFailsOnText = Literal["any", "failed", "never"]
OnFailuresText = Literal["succeed", "fail"]
NotifyAtText = Literal["firstFailure", "50%", "90%"]
ReopenItemsText = Literal["failed", "unfinished"]
TaskStateText = Literal["CREATED", "BUNDLED", "SUCCEEDED", "FAILED", "DEAD"]
BundleStateText = Literal["OPEN", "READY", "CALLING", "APPLYING", "DONE", "FAILED"]
OnBusyText = Literal["reject", "rerun"]
ListedStateText = Literal["queued", "inProgress", "delayed", "dead"]
"""The states of the jobs that a queue lists."""
JobStateText = Literal["queued", "inProgress", "delayed", "dead", "done"]
"""The states of a job; ``done`` is that of an acked one."""
Returned = None | bool | int | float | str | Sequence[object] | Mapping[str, object]
"""What the function of a handler returns: nothing, or a value of JSON; a coroutine is neither."""


class _EndingDetail(TypedDict):
    eventId: str
    detailType: Literal["BatchCompleted", "BatchFailed", "BatchCancelled", "BatchTimedOut", "BatchExpired"]
    tenant: str
    batchId: str
    userKey: str | None
    result: ResultText | None
    reason: str | None
    total: int
    failed: int
    openedAt: str
    closedAt: str | None
    completedAt: str | None
    endedAt: str | None
    labels: dict[str, str]
    acked: int
    upperBound: int
    exact: bool
    outstanding: int
    ranges: Sequence[dict[str, Any]]
    moreRanges: bool


class EndingDetail(_EndingDetail, total=False):
    """The detail of an ending event, as the target of its rule has it: ``event["detail"]``.

    Times are RFC 3339. The last keys are absent where a batch has none of what they say.
    """

    callback: str
    endedBy: str
    originBatchId: str
    minSucceeded: int
    minSucceededPercent: int
    reached: int
    resumes: bool
    results: dict[str, Any]
    traceparent: str
