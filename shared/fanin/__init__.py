"""Tracks fan-outs: reports exactly once when all items of a batch are done."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanin.client.aio.batches import AsyncBatch
    from fanin.client.aio.clients import AsyncFanin
    from fanin.client.argument_checks.filtering import FilterOptions
    from fanin.client.argument_checks.opening import OpenOptions
    from fanin.client.argument_checks.publishing import PublicationOptions
    from fanin.client.batch import Batch, Reopened
    from fanin.client.consuming.chunks import ChunkItem
    from fanin.client.fanin import Fanin
    from fanin.client.handing_over.stages import Stages
    from fanin.client.items import Items
    from fanin.client.model import (
        Cancelled,
        Closed,
        Deleted,
        Publication,
        QueueDescription,
        Status,
        Summary,
    )
    from fanin.client.queues.aio import AsyncQueue
    from fanin.client.queues.queue import Queue
    from fanin.client.queues.queue_model import (
        DeletedJobs,
        Job,
        QueueSession,
        QueueStatus,
        RejectedJob,
        RevivedJobs,
    )
    from fanin.client.queues.scope import Jobs
    from fanin.client.sqs_worker.handlers import WorkOptions
    from fanin.client.sqs_worker.messages import WorkSummary
    from fanin.client.task_model import (
        BundleSummary,
        ListedTask,
        NewTask,
        Registered,
        TargetSummary,
        TaskResult,
        TaskStatus,
    )
    from fanin.client.transports.environment import ConnectionOptions
    from fanin.client.transports.reports import AckReport, Completion, ItemVerdict, RangeVerdict
    from fanin.errors import (
        AccessDenied,
        BatchEnded,
        Conflict,
        Failed,
        FaninError,
        InvalidRequest,
        KeyReused,
        NewerSchema,
        NoTarget,
        NotFound,
        QuotaExceeded,
        StaleWrite,
        StoreUnavailable,
    )
    from fanin.publishing.items import send
    from fanin.publishing.sending import SendFailed
    from fanin.queue import LostClaim, NewJob, Options, SessionLost
    from fanin.settings.jobs import JobSettings
    from fanin.settings.tracking import Tables
    from fanin.tracker import BatchMap, Mode, Outcome, Retention, Sample, State, Verdict

__all__ = [
    "AccessDenied",
    "AckReport",
    "AsyncBatch",
    "AsyncFanin",
    "AsyncQueue",
    "Batch",
    "BatchEnded",
    "BatchMap",
    "BundleSummary",
    "Cancelled",
    "ChunkItem",
    "Closed",
    "Completion",
    "Conflict",
    "ConnectionOptions",
    "Deleted",
    "DeletedJobs",
    "Failed",
    "Fanin",
    "FaninError",
    "FilterOptions",
    "InvalidRequest",
    "ItemVerdict",
    "Items",
    "Job",
    "JobSettings",
    "Jobs",
    "KeyReused",
    "ListedTask",
    "LostClaim",
    "Mode",
    "NewJob",
    "NewTask",
    "NewerSchema",
    "NoTarget",
    "NotFound",
    "OpenOptions",
    "Options",
    "Outcome",
    "Publication",
    "PublicationOptions",
    "Queue",
    "QueueDescription",
    "QueueSession",
    "QueueStatus",
    "QuotaExceeded",
    "RangeVerdict",
    "Registered",
    "RejectedJob",
    "Reopened",
    "Retention",
    "RevivedJobs",
    "Sample",
    "SendFailed",
    "SessionLost",
    "Stages",
    "StaleWrite",
    "State",
    "Status",
    "StoreUnavailable",
    "Summary",
    "Tables",
    "TargetSummary",
    "TaskResult",
    "TaskStatus",
    "Verdict",
    "WorkOptions",
    "WorkSummary",
    "send",
]

# Loaded at the first access, so that a function does not import rooms that it does not use.
_ROOMS = {
    "fanin.settings.jobs": ("JobSettings",),
    "fanin.settings.tracking": ("Tables",),
    "fanin.client.aio.batches": ("AsyncBatch",),
    "fanin.client.aio.clients": ("AsyncFanin",),
    "fanin.client.batch": ("Batch", "Reopened"),
    "fanin.client.argument_checks.filtering": ("FilterOptions",),
    "fanin.client.argument_checks.opening": ("OpenOptions",),
    "fanin.client.argument_checks.publishing": ("PublicationOptions",),
    "fanin.client.consuming.chunks": ("ChunkItem",),
    "fanin.client.fanin": ("Fanin",),
    "fanin.client.items": ("Items",),
    "fanin.client.model": (
        "Cancelled",
        "Closed",
        "Deleted",
        "Publication",
        "QueueDescription",
        "Status",
        "Summary",
    ),
    "fanin.client.task_model": (
        "BundleSummary",
        "ListedTask",
        "NewTask",
        "Registered",
        "TargetSummary",
        "TaskResult",
        "TaskStatus",
    ),
    "fanin.client.queues.aio": ("AsyncQueue",),
    "fanin.client.queues.queue": ("Queue",),
    "fanin.client.queues.scope": ("Jobs",),
    "fanin.client.queues.queue_model": (
        "DeletedJobs",
        "Job",
        "QueueSession",
        "QueueStatus",
        "RejectedJob",
        "RevivedJobs",
    ),
    "fanin.client.handing_over.stages": ("Stages",),
    "fanin.client.transports.environment": ("ConnectionOptions",),
    "fanin.client.transports.reports": ("AckReport", "Completion", "ItemVerdict", "RangeVerdict"),
    "fanin.client.sqs_worker.handlers": ("WorkOptions",),
    "fanin.client.sqs_worker.messages": ("WorkSummary",),
    "fanin.errors": (
        "AccessDenied",
        "BatchEnded",
        "Conflict",
        "Failed",
        "FaninError",
        "InvalidRequest",
        "KeyReused",
        "NewerSchema",
        "NoTarget",
        "NotFound",
        "QuotaExceeded",
        "StaleWrite",
        "StoreUnavailable",
    ),
    "fanin.publishing.items": ("send",),
    "fanin.publishing.sending": ("SendFailed",),
    "fanin.queue": ("LostClaim", "NewJob", "Options", "SessionLost"),
    "fanin.tracker": ("BatchMap", "Mode", "Outcome", "Retention", "Sample", "State", "Verdict"),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415  # it reads the metadata of the package

        return version("fanin")
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_ROOM_OF[name]), name)
