"""The work queue: distinct jobs, each claimed by one session and acked exactly once."""

from fanin.queue.context import QueueContext, Reporter
from fanin.queue.doorbell import Doorbell, MemoryDoorbell
from fanin.queue.effects import Effects
from fanin.queue.errors import LostClaim, SessionLost, ShutDown
from fanin.queue.keys import QueueKey
from fanin.queue.model import (
    Accuracy,
    Dead,
    Depth,
    Job,
    JobState,
    Member,
    NewJob,
    OnBusy,
    Options,
    OutboxEntry,
    Rejected,
    Ring,
)
from fanin.queue.scope import Jobs
from fanin.queue.service import Queue
from fanin.queue.store import QueueStore

__all__ = [
    "Accuracy",
    "Dead",
    "Depth",
    "Doorbell",
    "Effects",
    "Job",
    "JobState",
    "Jobs",
    "LostClaim",
    "Member",
    "MemoryDoorbell",
    "NewJob",
    "OnBusy",
    "Options",
    "OutboxEntry",
    "Queue",
    "QueueContext",
    "QueueKey",
    "QueueStore",
    "Rejected",
    "Reporter",
    "Ring",
    "SessionLost",
    "ShutDown",
]
